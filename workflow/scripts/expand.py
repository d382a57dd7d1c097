"""Rule expand: word lists -> instances."""

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.families.underspecified.expansion import expand
from biasgrid.families.underspecified.reading import read_word_lists
from biasgrid.faults import InputError
from biasgrid.provenance import provenance
from biasgrid.table_files import write_table
from biasgrid.tables.instances import INSTANCES

one_token = None
if snakemake.input.tokenizer:
    from biasgrid.models.checkpoint import load_tokenizer, read_record
    from biasgrid.models.one_token import are_one_token

    one_token = partial(are_one_token, load_tokenizer(read_record(snakemake.input.tokenizer)))

lists, faults = read_word_lists(snakemake.params.files)
if faults:
    raise InputError(faults)
instances, dropped = expand(lists, one_token)
facts = provenance(snakemake.config, code=snakemake.params.code, word_lists=lists.digest(), dropped_subjects=dropped)
write_table(instances, snakemake.output[0], INSTANCES, facts)
