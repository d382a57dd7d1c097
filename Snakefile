import os

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from biasgrid.config import read_config
from biasgrid.base.faults import UserError

min_version("9.27")


# A config given on the command line replaces the default one; merging the two would mix their registries. A module is given
# its config by the workflow that uses it.
if not (workflow.overwrite_configfiles or workflow.modifier.skip_configfile):
    try:  # Snakemake would report a faulty file without its line, or with a traceback.
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


# The default target, because it is the first rule that is not included.
rule all:
    input:
        # Named here, so that files which a failed job has deleted are made again although there is a summary.
        inputs.of_cells(layout.sums),
        inputs.of_cells(layout.measures),
        inputs.of_datasets(layout.comparisons),
        layout.summary("csv"),
        layout.report,
        layout.manifest,
        pages.figure_folders(),
    localrule: True
