"""Settings of Python and of Snakemake by which it plans more quickly, and their gains.

They hold for every process that reads the rules, and change nothing but its time. Seconds of the
processor for `snakemake -n --configfile config/config.yaml` (15 models x 4 datasets, 316 jobs;
Python 3.11, Snakemake 9.27), each the mean of nine turns:

| setting | seconds |
| --- | --- |
| none | 3.19 |
| parse_addresses_once | 3.09 |
| keep_from_garbage_collection | 2.55 |
| both | 2.45 |

For `snakemake -n` of 100 models x 20 datasets (9,227 jobs), with both of these, each the mean of
two turns:

| setting | seconds |
| --- | --- |
| neither of the next | 14.3 |
| read_parameters_once | 13.4 |
| match_files_once | 13.8 |
| both | 12.7 |

Another one, by which Python looks for garbage less often (`gc.set_threshold`), gained less than 1 %
beside the first two and is not used.
"""

from __future__ import annotations

import gc
from functools import cache

import smart_open
from snakemake import common, rules
from snakemake.output_index import OutputIndex


def tune_planning() -> None:
    """Makes this process plan more quickly.

    It is called when imports and the config are read, and no job is planned.
    """
    keep_from_garbage_collection()
    parse_addresses_once()
    read_parameters_once()
    match_files_once()


def keep_from_garbage_collection() -> None:
    """Takes all objects out of garbage collection: modules and the config stay until the end.

    Gains 21 % of a plan: each collection would look at hundreds of thousands of them.
    """
    gc.freeze()


def parse_addresses_once() -> None:
    """Caches the addresses that smart_open parses.

    Gains 4 % of a plan: of each job Snakemake asks three times where its script is, and gets the
    answer as an object of a class that is made for this one answer.
    """
    smart_open.parse_uri = cache(smart_open.parse_uri)


def read_parameters_once() -> None:
    """Caches the parameters of the functions of rules.

    Gains 6 % of a large plan: Snakemake reads the parameters of a function in each job, up to three
    times.
    """
    # The function is internal to Snakemake, so another version may lack it.
    function_params = getattr(rules, "get_function_params", None)
    if function_params is not None:
        cached = cache(function_params)
        rules.get_function_params = common.get_function_params = cached


def match_files_once() -> None:
    """Caches the rules that make a file.

    Gains 4 % of a large plan: Snakemake searches them for each job that reads the file, and
    compares letter by letter.
    """
    match_producers = getattr(OutputIndex, "match_producers", None)
    if match_producers is not None:
        OutputIndex.match_producers = cache(match_producers)
