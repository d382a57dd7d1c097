"""Rule manifest: all that was made -> what was made, how and how fast."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.base.files import write_text
from biasgrid.config import ConfigFolders, parse_config
from biasgrid.config.paths import WORKFLOW
from biasgrid.runs.layout import FAILED_MANIFEST
from biasgrid.runs.manifest import make_manifest

folders = ConfigFolders(
    snakemake.params.folders["beside"], frozenset(snakemake.params.folders["given"]), WORKFLOW
)
config = parse_config(snakemake.config, snakemake.params.config, folders=folders)
manifest = make_manifest(config, snakemake.config, snakemake.params.config)
write_text(snakemake.output[0], json.dumps(manifest, indent=2) + "\n")
# All is made, whatever became of the run that was told that this job has failed.
Path(snakemake.output[0]).with_name(FAILED_MANIFEST).unlink(missing_ok=True)
