"""Rule expand: the word lists of a dataset's variant -> its instances."""

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import MODEL_MODULES, TABLE_MODULES, start_job

# Without a tokenizer all subjects are kept.
has_tokenizer = bool(snakemake.input.tokenizer)
start_job(snakemake.log[0], MODEL_MODULES if has_tokenizer else TABLE_MODULES)

from biasgrid.base.faults import InputError
from biasgrid.base.references import load, stage_module
from biasgrid.tables.files import write_table_in_parts
from biasgrid.tables.provenance import table_provenance

filters = {}
if has_tokenizer:
    from biasgrid.inference.checkpoints.checkpoint import load_recorded_tokenizer
    from biasgrid.inference.models.masked.one_token import token_counts
    from biasgrid.inference.models.prerequisites import read_model_record

    record = read_model_record(snakemake.input.tokenizer, snakemake.params.source)
    filters["token_counts"] = partial(token_counts, load_recorded_tokenizer(record))

family = snakemake.params.family
lists, faults = load(stage_module(family, "reading")).read(snakemake.params.files)
if faults:
    raise InputError(faults)
expansion = load(stage_module(family, "expand")).expand(lists, **filters)
dataset, variant = snakemake.wildcards.dataset, snakemake.wildcards.variant
facts = table_provenance(
    snakemake.config,
    of=f"{dataset}/{variant}",
    code=snakemake.params.code,
    word_lists=lists.digest(),
    **expansion.facts,
)
write_table_in_parts(expansion.parts, snakemake.output[0], expansion.schema, facts)
