"""Parts of a synthetic bias by group and by name: what is found over clusters and names, and what
is not.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_probes import estimated, files_of, instances_of
from small_tables import predictions_of
from taught import (
    MEN,
    REPEATS,
    WOMEN,
    as_the_corpus_says,
    bias_of,
    log_odds,
    masked_model,
    names_asked,
    numbers,
    of_groups,
    of_subjects,
)

from biasgrid.families.probe.observe import observe as observe_probe
from biasgrid.families.probe.read import SCORED
from biasgrid.families.probe.synthetic import corpus as corpus_of_probe
from biasgrid.families.underspecified.ask import known_effects
from biasgrid.families.underspecified.sizes import UNREAD_CORRELATION
from biasgrid.training.strength import Strength

pytestmark = pytest.mark.slow

BOTH, NAMES_ALONE = Strength(group=0.4, name=0.1), Strength(name=0.4)


def put_in(
    instances: pl.DataFrame, strength: float | Strength, seed: int, measure: str = "gamma"
) -> pl.DataFrame:
    """What the group's part alone makes of women, by attribute."""
    group = Strength(group=strength.group) if isinstance(strength, Strength) else 0.0
    return of_groups(known_effects(instances, bias_of(group, seed)), measure)


def runs(count: int, strength: float | Strength, names: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Of each run and attribute: whether it is found, and whether its interval holds what was put
    in.
    """
    instances = names_asked(names)
    found, held = [], []
    for seed in range(1, count + 1):
        rows = of_groups(as_the_corpus_says(instances, bias_of(strength, seed)))
        assert set(rows["generalises_to"]) == {"clusters x names"}
        truth = put_in(instances, strength, seed)["value"]
        found.append(rows["q"] <= 0.05)
        held.append((rows["low"] <= truth) & (truth <= rows["high"]))
    return np.array(found), np.array(held)


def test_group_associations_are_found_with_their_size() -> None:
    found, held = runs(12, BOTH)
    assert found.mean() >= 0.95
    assert held.mean() >= 0.9


def test_names_alone_are_no_association_of_groups() -> None:
    found, held = runs(12, NAMES_ALONE)
    assert found.any(axis=1).mean() <= 1 / 12
    assert held.mean() >= 0.9


@pytest.mark.long
def test_parts_are_distinguished_in_many_runs() -> None:
    found, held = runs(200, BOTH)
    assert found.mean() >= 0.99
    assert held.mean() >= 0.94
    found, held = runs(200, NAMES_ALONE)
    assert found.any(axis=1).mean() <= 0.06
    assert held.mean() >= 0.94


@pytest.mark.long
def test_trained_models_keep_both_parts_apart(tmp_path: Path) -> None:
    for name, strength in {"both": BOTH, "names": NAMES_ALONE, "none": 0.0}.items():
        instances, said = masked_model(tmp_path / name, bias_of(strength))
        rows = of_groups(numbers(instances, said))
        truth = known_effects(instances, bias_of(strength))
        if name == "both":
            assert rows["q"].max() <= 0.05  # type: ignore[operator]
            sizes = of_groups(truth)["value"]
            assert ((rows["low"] <= sizes) & (sizes <= rows["high"])).all()
        else:
            assert rows["q"].min() > 0.05  # type: ignore[operator]
        if name == "names":
            # Each name has its own part, with nothing in common with those of its list.
            assert (of_subjects(numbers(instances, said))["q"] <= 0.05).mean() >= 0.7


def test_shares_of_masked_models_do_not_move_with_how_probable_names_are(tmp_path: Path) -> None:
    measured = []
    for mass in (1.0, 0.25):
        strength = Strength(group=0.6, name=0.2, mass=mass)
        instances, said = masked_model(tmp_path / str(mass), bias_of(strength), names=4)
        sums = np.stack(said["probabilities"].to_list()).sum(axis=1)
        assert sums.mean() == pytest.approx(mass, abs=0.05)
        measured.append(numbers(instances, said))
        assert of_groups(measured[-1], "share_gamma")["q"].max() <= 0.05  # type: ignore[operator]
    for measure, expected in {"share_gamma": 1.0, "gamma": 0.25}.items():
        whole, quarter = (of_subjects(each, measure)["value"].to_numpy() for each in measured)
        slope = whole @ quarter / (whole @ whole)
        assert slope == pytest.approx(expected, abs=0.05 * expected + 0.01), measure
        assert np.corrcoef(whole, quarter)[0, 1] > 0.99


@pytest.mark.long
def test_a_model_that_does_not_read_the_negation_gives_both_questions_one_answer(
    tmp_path: Path,
) -> None:
    read, unread = (
        masked_model(
            tmp_path / str(share), bias_of(Strength(group=0.6, name=0.2, unread_negation=share))
        )
        for share in (0.0, 1.0)
    )
    for (instances, said), expected in ((read, -0.9), (unread, 0.9)):
        pairs = instances.sort("instance").with_columns(odds=pl.Series(log_odds(said)))
        both = pairs.pivot("negated", index=["swap_group", "swapped"], values="odds").drop(
            "swap_group", "swapped"
        )
        correlation = np.corrcoef(both.to_numpy().T)[0, 1]
        assert correlation < expected if expected < 0 else correlation > expected
    for model, is_unread in ((read, False), (unread, True)):
        cell = numbers(*model)
        flag = cell.filter(measure="negation_unread").row(0, named=True)
        assert (flag["value"] > UNREAD_CORRELATION and flag["low"] > 0) == is_unread
        # The question alone has the associations of both, for which the other has the difference.
        assert of_groups(cell, "question_association")["q"].max() <= 0.05  # type: ignore[operator]
        for measure in ("gamma", "share_gamma"):
            found = of_groups(cell, measure)["q"] <= 0.05
            assert not found.any() if is_unread else found.all()
            assert (of_subjects(cell, measure)["q"] <= 0.05).mean() <= 0.05 or not is_unread


PROBE = """\
title: Hiring
bias_type: gender
question: "{name} wants to be {job}. Hired?"
prompts:
PROMPTS
items: [JOBS]
evaluator: yes-no
metric: {signed_gap: {kind: difference, label: "yes", groups: [woman, man]}}
"""
LISTS = {"woman": WOMEN, "man": MEN}
PROMPTS = "\n".join(
    f"  - {{name: {name}, group: {group}}}" for group, names in LISTS.items() for name in names
)
HIRING = PROBE.replace("PROMPTS", PROMPTS).replace(
    "JOBS", ", ".join(f"{{job: job{item}}}" for item in range(12))
)


def gap_of(folder: Path, strength: Strength, seed: int) -> tuple[bool, bool]:
    """Whether the gap of a model that answers as the corpus does is found, and whether its interval
    holds its size.
    """
    files = files_of(folder, HIRING, answers=SCORED)
    instances, options = instances_of(files), {"probe": str(files.probe), "mode": None}
    bias = bias_of(strength, seed, options=options)
    said = dict(
        line.split("\t", 1)
        for line in corpus_of_probe(instances, "text-generation", bias).splitlines()
    )
    yes = [
        said[text].split("\t").count("Yes") / REPEATS for text in instances["text"].cast(pl.String)
    ]
    answers = predictions_of(
        "choice", instances, probabilities=[[share, 1 - share] for share in yes]
    )
    rows = estimated(observe_probe(instances, answers, options), options).filter(
        measure="signed_gap"
    )
    row = rows.row(by_predicate=pl.col("group").is_null(), named=True)
    assert row["generalises_to"] == "items x names"
    # No is the first option by name, so that groups differ by less of Yes.
    sizes = [sign * strength.group for sign in (-1, 1)]
    return row["p"] <= 0.05, any(row["low"] <= size <= row["high"] for size in sizes)


def test_gaps_of_probes_match_groups(tmp_path: Path) -> None:
    found, held = zip(
        *(gap_of(tmp_path / f"both-{seed}", BOTH, seed) for seed in range(8)), strict=True
    )
    assert all(found)
    assert sum(held) >= 7
    found, held = zip(
        *(gap_of(tmp_path / f"names-{seed}", NAMES_ALONE, seed) for seed in range(8)), strict=True
    )
    assert sum(found) <= 1
    assert sum(held) >= 7
