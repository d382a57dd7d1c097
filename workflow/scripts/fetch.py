"""Rules fetch_model and fetch_tokenizer: a checkpoint of the hub or a folder -> its record."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.models.checkpoint import make_record

record = make_record(**snakemake.params.source)
Path(snakemake.output[0]).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n")
