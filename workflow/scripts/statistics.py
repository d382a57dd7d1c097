"""Rule statistics: sums of a cell -> its measures with their intervals, and where its variance
is.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import STATISTICS_MODULES, start_job

start_job(snakemake.log[0], STATISTICS_MODULES)

from biasgrid.families.estimates import estimate_cell
from biasgrid.stats.clusters import redundant_templates
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.claims.facts import COVERAGE, SIZES, WITHHELD
from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.measures import DESIGN, INTERVALS, MEASURES
from biasgrid.tables.provenance import digest, table_provenance
from biasgrid.tables.sums import SUMS

cell = snakemake.params.cell
chosen = {name: cell[name] for name in ("clusters", "units", "ranges")}
of_controls = dict(
    zip(cell["controls"], map(read_provenance, snakemake.input.controls), strict=True)
)
controls = {name: made[SIZES] for name, made in of_controls.items()}
found = estimate_cell(
    family=cell["family"],
    sums=read_table(snakemake.input.sums, SUMS),
    options=cell["options"],
    declared=cell["declared"],
    settings=StatisticsSettings(**chosen, **cell["settings"], controls=controls),
)
made = read_provenance(snakemake.input.sums)
facts = table_provenance(
    snakemake.config,
    of=f"{snakemake.wildcards.dataset}/{snakemake.wildcards.model}",
    code=cell["code"],
    clusters=cell["clusters"],
    templates=cell["templates"],
    statistics=cell["settings"],
    sums=digest(made),
    **{name: made[name] for name in ("predictions", "cell", "answered", COVERAGE) if name in made},
    controls={name: digest(made) for name, made in of_controls.items()},
    **{SIZES: found.sizes, WITHHELD: found.is_withheld},
)
for warning in redundant_templates(found.design):
    print(f"warning: {warning}")
write_table(found.measures, snakemake.output.measures, MEASURES, facts)
write_table(found.intervals, snakemake.output.intervals, INTERVALS, facts)
write_table(found.design, snakemake.output.design, DESIGN, facts)
