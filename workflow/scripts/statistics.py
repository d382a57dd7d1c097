"""Rule statistics: sums of a cell -> its measures, with intervals, and parts of their variance."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import StatisticsParams

from biasgrid.jobs.start import STATISTICS_MODULES, start_job

start_job(snakemake.log[0], STATISTICS_MODULES)

from biasgrid.families.estimates import estimate_cell
from biasgrid.jobs.cell_warnings import CellWarning
from biasgrid.stats.clusters import redundant_templates
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.claims.facts import COVERAGE, SIZES_FACT, WITHHELD
from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURES
from biasgrid.tables.provenance import digest, table_provenance
from biasgrid.tables.sums import SUMS

cell: "StatisticsParams" = snakemake.params.cell
provenance_of_controls = {}
# The files are in the order of the names.
for name, path in zip(cell["controls"], snakemake.input.controls, strict=True):
    provenance_of_controls[name] = read_provenance(path)
settings = StatisticsSettings(
    clusters=cell["clusters"],
    units=cell["units"],
    ranges=cell["ranges"],
    **cell["settings"],
    controls={name: control[SIZES_FACT] for name, control in provenance_of_controls.items()},
)
estimates = estimate_cell(
    family=cell["family"],
    sums=read_table(snakemake.input.sums, SUMS),
    measure_options=cell["measure_options"],
    declared=cell["definitions"],
    settings=settings,
)
provenance_of_sums = read_provenance(snakemake.input.sums)
optional_facts = {}
for name in ("answered", COVERAGE):
    if name in provenance_of_sums:
        optional_facts[name] = provenance_of_sums[name]
facts = table_provenance(
    snakemake.config,
    of=f"{snakemake.wildcards.dataset}/{snakemake.wildcards.model}",
    code=cell["code"],
    clusters=cell["clusters"],
    templates=cell["templates"],
    statistics=cell["settings"],
    sums=digest(provenance_of_sums),
    predictions=provenance_of_sums["predictions"],
    cell=provenance_of_sums["cell"],
    **optional_facts,
    controls={name: digest(control) for name, control in provenance_of_controls.items()},
    **{SIZES_FACT: estimates.sizes, WITHHELD: estimates.is_withheld},
)
for text in redundant_templates(estimates.design):
    logging.warning(text)
    print(CellWarning(snakemake.wildcards.model, snakemake.wildcards.dataset, text).line)
write_table(estimates.measures, snakemake.output.measures, MEASURES, facts)
write_table(estimates.intervals, snakemake.output.intervals, INTERVALS, facts)
write_table(estimates.design, snakemake.output.design, DESIGN, facts)
