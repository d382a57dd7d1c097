"""Each stage gives the same bytes however many threads sum, and however often it is run."""

import subprocess
import sys
from collections import Counter

import pytest
from project import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.family("the stages are those of built-in families, on shipped lists"),
]

STAGES = """
import sys
from hashlib import sha256
import numpy as np
import polars as pl
from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.families.cell import MeasuredCell, evidence_of_cell, parts_of
from biasgrid.families.synthetic import SyntheticBias
from biasgrid.base.references import load, stage_module
from biasgrid.stats.noise.jackknife import with_key_columns
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import sums_table, values_table
from biasgrid.tables.schema import answer_schema

dataset, times = sys.argv[1], int(sys.argv[2])
content = read_config("config/demo-full.yaml")
if "limit" in content["datasets"][dataset]:
    content["datasets"][dataset] |= {"limit": {"subjects": 12, "templates": 4}, "sample": "all"}
content["run"] = {"models": ["none-sentiment" if dataset == "sentiment" else "none-qa"], "datasets": [dataset]}
config = parse_config(content, "demo-full.yaml")
(variant, question) = next((key, each) for key, each in config.needed_variants.items() if key[0] == dataset)
family = config.family_reference(dataset)
lists = load_word_lists(config)[variant]


def expanded():
    return pl.concat(load(stage_module(family, "expand")).expand(lists).parts)


instances = expanded()
random = np.random.default_rng(1)
labels = getattr(config.datasets[dataset], "labels", [])
scores = random.random((len(instances), len(labels) or 2), dtype=np.float32)
if question.answer == "choice":
    said = {"probabilities": list(scores / scores.sum(axis=1, keepdims=True))}
else:
    said = {"starts": list(scores), "ends": list(scores[:, ::-1]), "answer": ["someone"] * len(scores)}
types = {name: column.dtype.type for name, column in answer_schema(question.answer).columns.items() if name in said}
predictions = instances.select("instance").hstack(pl.DataFrame(said, schema_overrides=types))
missing = [name for name in answer_schema(question.answer).columns if name not in predictions.columns]
predictions = predictions.with_columns(pl.lit(None).alias(name) for name in missing)
options = config.family(dataset).synthetic_options(config, dataset)
strength = SyntheticBias(dataset, "strong", 0.4, 8, 1, labels=labels, measure_options=options)


def measured():
    stages = load(stage_module(family, "measures"))
    observations = load(stage_module(family, "observe")).observe(instances, predictions, question.measure_options)
    parts = parts_of(stages.measure, observations, question.measure_options, StatisticsSettings())
    measures = with_key_columns(values_table(parts))
    cell = MeasuredCell(instances.lazy(), predictions.lazy(), observations, measures, question.measure_options)
    return sums_table(parts), evidence_of_cell(family, cell).units


runs = {
    "expand": lambda: [expanded()],
    "synthetic": lambda: [load(stage_module(family, "synthetic")).known_effects(instances, strength)],
    "measure": measured,
}
for what, run in runs.items():
    for _ in range(times):
        bits = [table.cast({pl.Categorical: pl.String}).write_ipc(None).getvalue() for table in run()]
        print(what, sha256(b"".join(bits)).hexdigest())
"""


@pytest.mark.parametrize("times", [6, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("dataset", ["nationality", "sentiment"])
def test_stages_give_the_same_each_time_with_several_threads(
    dataset: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "8")
    line = [sys.executable, "-c", STAGES, dataset, str(times)]
    told = subprocess.run(
        line, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    # Each line as often as a stage was run: no stage has given two things.
    counts = Counter(told)
    assert [line.split()[0] for line in counts] == ["expand", "synthetic", "measure"]
    assert set(counts.values()) == {times}
