import os

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from biasgrid.config import read_config
from biasgrid.base.faults import UserError

min_version("9.27")


# A config given on the command line replaces the default one; merging the two would mix their registries. A module is given
# its config by the workflow that uses it.
if not (workflow.overwrite_configfiles or workflow.modifier.skip_configfile):
    try:  # Of a file that it cannot read Snakemake tells no line, or a traceback.
        if os.path.isfile("config/config.yaml"):
            read_config("config/config.yaml")
    except UserError as error:
        raise WorkflowError(str(error)) from None

    configfile: "config/config.yaml"


include: "rules/common.smk"
include: "rules/expand.smk"
include: "rules/models.smk"
include: "rules/capabilities.smk"
include: "rules/predict.smk"
include: "rules/scorers.smk"
include: "rules/import.smk"
include: "rules/measure.smk"
include: "rules/compare.smk"
include: "rules/plot.smk"
include: "rules/report.smk"


# The first rule that is not included, and so the default target.
rule all:
    input:
        # Named here, so that those which a failed job has taken away are made again though a summary is there.
        inputs.of_cells(layout.sums),
        inputs.of_cells(layout.measures),
        inputs.of_datasets(layout.comparisons),
        layout.summary("csv"),
        layout.report,
        layout.manifest,
        pages.figure_folders(),
    localrule: True
