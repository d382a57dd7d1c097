"""Parts of a synthetic bias by group and by name: what is found over clusters and names, and what is not."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from taught import as_the_corpus_says, bias_of, log_odds, masked_model, names_asked, numbers, of_groups

from biasgrid.families.strength import Strength
from biasgrid.families.underspecified.synthetic import known_effects

BOTH, NAMES_ALONE = Strength(group=0.4, name=0.1), Strength(name=0.4)


def effects_put_in(
    instances: pl.DataFrame, strength: float | Strength, seed: int, measure: str = "gamma"
) -> pl.DataFrame:
    """What the group's part alone makes of women, by attribute."""
    group = Strength(group=strength.group) if isinstance(strength, Strength) else 0.0
    return of_groups(known_effects(instances, bias_of(group, seed)), measure)


def runs(count: int, strength: float | Strength, names: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Of each run and attribute: whether it is found, and whether its interval holds what was put in."""
    instances = names_asked(names)
    found, held = [], []
    for seed in range(1, count + 1):
        rows = of_groups(as_the_corpus_says(instances, bias_of(strength, seed)))
        assert set(rows["generalises_to"]) == {"clusters x names"}
        truth = effects_put_in(instances, strength, seed)["value"]
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
def test_parts_are_told_apart_in_many_runs() -> None:
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


@pytest.mark.long
def test_a_model_that_does_not_read_the_negation_gives_both_questions_one_answer(tmp_path: Path) -> None:
    read, unread = (
        masked_model(tmp_path / str(share), bias_of(Strength(group=0.6, name=0.2, unread_negation=share)))
        for share in (0.0, 1.0)
    )
    for (instances, said), expected in ((read, -0.9), (unread, 0.9)):
        pairs = instances.sort("instance").with_columns(odds=pl.Series(log_odds(said)))
        both = pairs.pivot("negated", index=["swap_group", "swapped"], values="odds").drop("swap_group", "swapped")
        correlation = np.corrcoef(both.to_numpy().T)[0, 1]
        assert correlation < expected if expected < 0 else correlation > expected
    assert of_groups(numbers(*unread))["q"].min() > 0.05  # type: ignore[operator]
    assert of_groups(numbers(*read))["q"].max() <= 0.05  # type: ignore[operator]
