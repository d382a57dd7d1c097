"""Settings of Python and patches of Snakemake by which it plans more quickly, and their gains.

They hold for every process that reads the rules, and change nothing but its time. CPU seconds of
`snakemake -n --configfile config/config.yaml` (15 models x 4 datasets, 316 jobs; Python 3.11,
Snakemake 9.27), each the mean of nine alternating runs:

| setting | seconds |
| --- | --- |
| none | 3.19 |
| parse_addresses_once | 3.09 |
| keep_from_garbage_collection | 2.55 |
| both | 2.45 |

For `snakemake -n` of 100 models x 20 datasets (9,227 jobs), with both of these, each the mean of
two alternating runs:

| setting | seconds |
| --- | --- |
| neither of the next | 14.3 |
| read_parameters_once | 13.4 |
| match_files_once | 13.8 |
| both | 12.7 |

Less frequent garbage collection (`gc.set_threshold`) gained less than 1 % beside the first two and
is not used.
"""

from __future__ import annotations

import gc
from functools import cache

import smart_open
from snakemake import common, rules
from snakemake.output_index import OutputIndex


def tune_planning() -> None:
    """Makes this process plan more quickly.

    To be called after imports and the reading of the config, and before any job is planned.
    """
    keep_from_garbage_collection()
    parse_addresses_once()
    read_parameters_once()
    match_files_once()


def keep_from_garbage_collection() -> None:
    """Exempts all objects so far from garbage collection: modules and config stay until the end.

    Gains 21 % of a plan: each collection would look at hundreds of thousands of objects.
    """
    gc.freeze()


def parse_addresses_once() -> None:
    """Makes smart_open cache the addresses that it parses.

    Gains 4 % of a plan: Snakemake parses the address of each job's script three times, and each
    time smart_open makes a new class for the result.
    """
    smart_open.parse_uri = cache(smart_open.parse_uri)


def read_parameters_once() -> None:
    """Makes Snakemake cache the parameters of the functions of rules.

    Gains 6 % of a large plan: Snakemake inspects a function for each job, up to three times.
    """
    # The function is internal to Snakemake, so another version may lack it.
    function_params = getattr(rules, "get_function_params", None)
    if function_params is not None:
        cached_params = cache(function_params)
        rules.get_function_params = common.get_function_params = cached_params


def match_files_once() -> None:
    """Makes Snakemake cache the rules that make a file; rules must not change afterwards.

    Gains 4 % of a large plan: Snakemake searches the rules for each job that reads the file, letter
    by letter. The cache is of the whole process.
    """
    match_producers = getattr(OutputIndex, "match_producers", None)
    if match_producers is not None:
        OutputIndex.match_producers = cache(match_producers)
