"""Rule fetch: a checkpoint of the hub or in a folder -> its record.

The record of a model that is trained here also has `training`, the facts of its training.
"""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.logs import start_log

start_log(snakemake.log[0])

from biasgrid.base.files import bring_to_present, read_run_json, write_text
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.checkpoints.fetch import make_source_record

record = make_source_record(snakemake.params.source, snakemake.output[0])
if snakemake.input.get("base"):
    record["training"]["base"] = read_record(snakemake.input.base)
if snakemake.input.get("training"):
    record["training"] |= read_run_json(snakemake.input.training, "what is known of a training")
write_text(snakemake.output[0], json.dumps(record, indent=2, sort_keys=True) + "\n")
# Snakemake would delete the record if a local file seems to be from the future.
bring_to_present(snakemake.input)
