"""Rule synthetic: instances of a dataset -> its known effect, corpora that have it, their words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import SyntheticParams

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.base.references import load, stage_module
from biasgrid.families.synthetic import SyntheticBias, write_synthetic
from biasgrid.tables.files import read_provenance
from biasgrid.tables.instances import read_instances
from biasgrid.tables.provenance import table_provenance
from biasgrid.training.strength import read_strength

params, dataset = snakemake.params, snakemake.wildcards.dataset
keys = load(stage_module(params.family, "keys")).KEYS
synthetic_bias: "SyntheticParams" = params.synthetic
# One table per task, in the order of the corpora.
tables = dict(zip(params.corpora, snakemake.input.instances, strict=True))
biases = [
    SyntheticBias(
        dataset=dataset,
        strength_name=name,
        strength=read_strength(strength),
        repeats=synthetic_bias["repeats"],
        seed=synthetic_bias["seed"],
        spread=synthetic_bias["spread"],
        labels=params.labels,
        measure_options=params.options,
    )
    for name, strength in synthetic_bias["strengths"].items()
]
provenance = table_provenance(
    snakemake.config,
    of=dataset,
    code=params.code,
    synthetic=params.synthetic,
    instances={task: read_provenance(path) for task, path in tables.items()},
)
write_synthetic(
    load(stage_module(params.family, "synthetic")),
    instances={task: read_instances(path, keys) for task, path in tables.items()},
    synthetic_biases=biases,
    corpora=params.corpora,
    path=snakemake.output.synthetic,
    provenance=provenance,
)
