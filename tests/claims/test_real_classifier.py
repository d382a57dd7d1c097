"""A classifier of real text: what is known of such models is found, and what a control does is not
taken for a finding.

The encoder has read much text, and the classifier has learned what people think of sentences;
nothing was put in.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import needs
import numpy as np
import polars as pl
import pytest
from project import ROOT
from real_models import LABELS, rated_sentences, train_sentiment
from shards import Cell, asked
from shared import made_once
from small_estimates import reference, settings_of, sums_of_cell
from small_packs import read_pack
from small_tables import whole

from biasgrid.families.counterfactual.ask import expand
from biasgrid.families.counterfactual.observe import observe
from biasgrid.families.counterfactual.pack import CasePackFiles
from biasgrid.families.estimates import EstimatedCell, estimate_cell
from biasgrid.families.sampling import BlockSample
from biasgrid.groups.definitions import group_measures
from biasgrid.tables.metric import MetricDefinitions

PACKS = ROOT / "word_lists/counterfactual"
TASK = "text-classification"
OPTIONS: dict[str, Any] = {
    "task": TASK,
    "measures": None,
    "failure_threshold": 0.1,
    "labels": list(LABELS),
    "fixed_class": "positive",
}
SETTINGS = settings_of(
    group_measures("classes", 0.1, ("template", "term"), fixed_class="positive"), permutations=99
)
MORE_PEOPLES = ("Gorvanese", "Heldrian", "Jastovar", "Kelmarish", "Lendovian", "Morvenese")
CASES = 78
SPLITS = 10


def observations_of(folder: Path, model: Path, groups: Path) -> pl.DataFrame:
    """What a classifier says of three cases of each template of the pack, about some groups."""
    sample = BlockSample(units=CASES)
    files = CasePackFiles(
        PACKS / "templates/sentiment-2.json", PACKS / "fillings", groups, None, TASK, sample
    )
    instances = whole(expand(read_pack(files)))
    said = Cell(folder / groups.stem, TASK, instances, model).predict(
        labels=list(LABELS), token_budget=2048
    )
    return observe(instances, said, OPTIONS)


def estimated(observations: pl.DataFrame, control: EstimatedCell | None = None) -> EstimatedCell:
    """The numbers of a cell, beside its control if it has one."""
    chosen = SETTINGS._replace(controls={"control": control.sizes} if control else {})
    sums = sums_of_cell("counterfactual", observations, OPTIONS, chosen)
    return estimate_cell(
        reference("counterfactual"), sums, OPTIONS, MetricDefinitions([], {}, {}), chosen
    )


def differences(cell: EstimatedCell, measure: str = "difference") -> pl.DataFrame:
    return cell.measures.filter(measure=measure).drop_nulls("q")


def significant(cell: EstimatedCell, measure: str = "difference") -> int:
    return int((differences(cell, measure)["q"] <= 0.05).sum())


def significant_of_words(cell: EstimatedCell) -> int:
    """How many differences are significant of the very words that were asked."""
    rows = cell.intervals.filter(measure="difference", generalises_to="clusters")
    return int((rows["q"] <= 0.05).sum())


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that is right of four in five sentences that it has not seen."""
    sentences = rated_sentences()
    held, learned = sentences[:500], sentences[1000:3080]
    folder = made_once(
        tmp_path_factory, "real-classifier", partial(train_sentiment, sentences=learned)
    )
    trained = folder / "sentiment"
    texts = asked([{"text": text} for text, _ in held])
    said = Cell(tmp_path_factory.mktemp("held"), TASK, texts, trained).predict(
        labels=list(LABELS), token_budget=2048
    )
    positive = np.stack(said["probabilities"].to_list())[:, 1] > 0.5
    assert (positive == np.array([label for _, label in held])).mean() > 0.75
    return trained


@pytest.fixture(scope="module")
def people(model: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    return observations_of(tmp_path_factory.mktemp("people"), model, PACKS / "groups.json")


@pytest.mark.long
@needs.encoder.mark
@needs.ratings.mark
def test_groups_differ_in_the_probability_of_a_class_and_are_in_the_known_order(
    people: pl.DataFrame,
) -> None:
    cell = estimated(people)
    pairs = len(differences(cell))
    assert pairs == 94
    # A shift towards a class makes as many labels wrong as right, so that in the right class it
    # cancels.
    assert significant(cell) >= 10
    assert significant(cell, "right_class_difference") <= significant(cell) / 5
    positive = pl.col("probabilities").list.get(1)
    means = dict(people.group_by(pl.col("group").cast(pl.String)).agg(positive.mean()).iter_rows())
    for below, above in [
        ("non-binary", "male"),
        ("non-binary", "christian"),
        ("blind", "christian"),
        ("non-disabled", "christian"),
        ("atheist", "christian"),
    ]:
        assert means[below] < means[above] - 0.02, (below, above)


@pytest.mark.long
@needs.encoder.mark
@needs.ratings.mark
def test_a_control_is_quiet_next_to_another(model: Path, tmp_path: Path) -> None:
    shipped = json.loads((PACKS / "placebo-groups.json").read_text())["invented"]
    more = {
        name.lower(): [f"{name} {noun}" for noun in ("woman", "man", "person")]
        for name in MORE_PEOPLES
    }
    (tmp_path / "peoples.json").write_text(json.dumps({"invented": shipped | more}))
    peoples = observations_of(tmp_path, model, tmp_path / "peoples.json")
    names, random = [*shipped, *more], np.random.default_rng(0)
    of_words, beside = [], []
    for _ in range(SPLITS):
        chosen = random.permutation(names).tolist()
        one, other = (
            peoples.filter(pl.col("group").cast(pl.String).is_in(part))
            for part in (chosen[:6], chosen[6:])
        )
        control = estimated(other)
        of_words.append(significant_of_words(estimated(one)))
        beside.append(significant(estimated(one, control)))
    # Words alone make differences that are no chance; they are no larger than those that words
    # make.
    assert np.mean(of_words) >= 3
    assert np.count_nonzero(beside) <= 1
