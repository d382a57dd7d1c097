"""Rule plant: instances of a dataset -> what is planted in it, corpora that hold it, and the words of its texts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLES, start_job

start_job(snakemake.log[0], TABLES)

from biasgrid.base.references import load, stage
from biasgrid.families.synthetic import Planting, write_planted
from biasgrid.tables.files import read_provenance
from biasgrid.tables.instances import read_instances
from biasgrid.tables.provenance import provenance

dataset, planted, labels = snakemake.wildcards.dataset, snakemake.params.planted, snakemake.params.labels
keys = load(stage(snakemake.params.family, "keys")).KEYS
tables = dict(zip(snakemake.params.corpora, snakemake.input.instances, strict=True))
write_planted(
    load(stage(snakemake.params.family, "planted")),
    instances={task: read_instances(path, keys) for task, path in tables.items()},
    plantings=[
        Planting(
            dataset=dataset,
            strength_name=name,
            strength=strength,
            repeats=planted["repeats"],
            seed=planted["seed"],
            spread=planted["spread"],
            labels=labels,
            options=snakemake.params.options,
        )
        for name, strength in planted["strengths"].items()
    ],
    corpora=snakemake.params.corpora,
    path=snakemake.output.planted,
    provenance=provenance(
        snakemake.config,
        of=dataset,
        code=snakemake.params.code,
        planted=planted,
        instances={task: read_provenance(path) for task, path in tables.items()},
    ),
)
