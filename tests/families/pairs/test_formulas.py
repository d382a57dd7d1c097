"""The same sentences by five formulas, as docs/public-benchmarks/pairs.md has them: computed
here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from project import ROOT
from shards import Cell
from small_estimates import estimates_of
from small_pairs import instances_of, pair_files, pairs_of
from small_tables import with_keys

from biasgrid.families.pairs.data import ALONE
from biasgrid.families.pairs.family import FAMILY
from biasgrid.families.pairs.measures import observe
from biasgrid.families.synthetic import words_of_instances
from biasgrid.inference.scorings import MASKED, SCORINGS
from biasgrid.stats.clusters import clusters_from_texts
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.training.tiny import make_base_checkpoint

FORMULAS = ("cps", "aul", "aula", "sss", "pll")
OWN = ROOT / "word_lists/benchmarks/Pairs.csv"
ROW = re.compile(r"^\| `([\w-]+)` \| ([\d.]+) \| ([\d.]+) to ([\d.]+) \|$", re.MULTILINE)


@pytest.mark.slow
def test_the_table_of_formulas_is_what_the_product_gives(tmp_path: Path) -> None:
    told = {
        name: tuple(map(float, row))
        for name, *row in ROW.findall((ROOT / "docs/public-benchmarks/pairs.md").read_text())
    }
    make_base_checkpoint(
        words_of_instances(instances_of(pair_files(OWN, layout="plain"))),
        tmp_path / "model",
        seed=1,
    )
    found = {}
    for scoring in FORMULAS:
        files = pair_files(OWN, layout="plain", variant=SCORINGS[scoring].needs or ALONE)
        instances, pairs = with_keys(instances_of(files)), pairs_of(files)
        cell = Cell(tmp_path / scoring, MASKED, instances, tmp_path / "model")
        said = cell.predict(answer="likelihood", scoring=scoring)
        clusters = clusters_from_texts(FAMILY.cluster_texts(pairs), "auto")
        estimates = estimates_of(
            "pairs",
            observe(instances, said, {"scoring": scoring}),
            {},
            StatisticsSettings(clusters),
        )
        share = estimates.filter(
            estimates["bias_type"].is_null(), measure="stereotype_share"
        ).to_dicts()[0]
        found[scoring] = tuple(round(100 * share[name], 1) for name in ("value", "low", "high"))
    assert found == told
