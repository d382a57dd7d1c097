"""Rule manifest: all outputs -> the manifest, with their origin, times and digests."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import ConfigParams

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.base.files import write_text
from biasgrid.config import ConfigFolders, parse_config
from biasgrid.config.paths import WORKFLOW
from biasgrid.runs.layout import FAILED_MANIFEST
from biasgrid.runs.manifest import make_manifest

config_params: "ConfigParams" = snakemake.params.config
command_line_keys = frozenset(config_params["command_line_keys"])
folders = ConfigFolders(config_params["folders"], command_line_keys, WORKFLOW)
config = parse_config(snakemake.config, config_params["name"], folders=folders)
manifest = make_manifest(config, snakemake.config, config_params["name"])
write_text(snakemake.output[0], json.dumps(manifest, indent=2) + "\n")
# Everything is made, so an earlier failure no longer counts.
Path(snakemake.output[0]).with_name(FAILED_MANIFEST).unlink(missing_ok=True)
