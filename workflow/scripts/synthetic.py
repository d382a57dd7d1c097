"""Rule synthetic: instances of a dataset -> the known effect in it, corpora with it, and the words
of its texts.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.base.references import load, stage
from biasgrid.families.synthetic import SyntheticBias, write_synthetic
from biasgrid.tables.files import read_provenance
from biasgrid.tables.instances import read_instances
from biasgrid.tables.provenance import table_provenance
from biasgrid.training.strength import read_strength

dataset, synthetic, labels = (
    snakemake.wildcards.dataset,
    snakemake.params.synthetic,
    snakemake.params.labels,
)
keys = load(stage(snakemake.params.family, "keys")).KEYS
tables = dict(zip(snakemake.params.corpora, snakemake.input.instances, strict=True))
write_synthetic(
    load(stage(snakemake.params.family, "synthetic")),
    instances={task: read_instances(path, keys) for task, path in tables.items()},
    synthetic_biases=[
        SyntheticBias(
            dataset=dataset,
            strength_name=name,
            strength=read_strength(strength),
            repeats=synthetic["repeats"],
            seed=synthetic["seed"],
            spread=synthetic["spread"],
            labels=labels,
            options=snakemake.params.options,
        )
        for name, strength in synthetic["strengths"].items()
    ],
    corpora=snakemake.params.corpora,
    path=snakemake.output.synthetic,
    provenance=table_provenance(
        snakemake.config,
        of=dataset,
        code=snakemake.params.code,
        synthetic=synthetic,
        instances={task: read_provenance(path) for task, path in tables.items()},
    ),
)
