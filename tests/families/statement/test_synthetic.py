"""Prejudices synthetic in corpora of statements, and measured in models that answer as these do."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_statements import instances_of, measured
from small_tables import predictions_of

from biasgrid.families.statement.ask import corpus, known_effects
from biasgrid.families.synthetic import SyntheticBias
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.strength import Strength, total_strength

GROUPS = ["bias_type", "group"]


def bias(
    strength: float | Strength, repeats: int = 50, seed: int = 5, dataset: str = "demo"
) -> SyntheticBias:
    return SyntheticBias(dataset, "some", strength, repeats, seed)


def shares(lines: str) -> list[float]:
    """The share of Yes among the answers of each line."""
    answers = [line.split("\t")[1:] for line in lines.splitlines()]
    return [said.count("Yes") / len(said) for said in answers]


def biases(instances: pl.DataFrame, yes: list[float]) -> pl.DataFrame:
    """The measured bias of each class, of a model that says Yes at these probabilities."""
    said = predictions_of("choice", instances, probabilities=[[share, 1 - share] for share in yes])
    rows = measured(instances, said).filter(
        pl.col("group").is_not_null(), pl.col("subject").is_null(), measure="bias"
    )
    return rows.select(*GROUPS, "value").sort(GROUPS)


@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0, Strength(group=0.6, name=0.3)], ids=str)
def test_answering_as_often_as_the_corpus_does_gives_the_synthetic_biases(
    tmp_path: Path, strength: float | Strength
) -> None:
    instances = instances_of(tmp_path)
    synthetic = known_effects(instances, bias(strength))
    validate_table(synthetic, SYNTHETIC, "synthetic")
    assert set(synthetic.select("strength", "dataset", "measure", "options").rows()) == {
        ("some", "demo", "bias", "")
    }
    found = biases(instances, shares(corpus(instances, "text-generation", bias(strength))))
    assert synthetic.select(GROUPS).equals(found.select(GROUPS))
    # People are compared with people, so that templates have two of them, and traits are of two
    # classes.
    assert synthetic["bias_type"].unique().sort().to_list() == [
        "people",
        "people #1",
        "people #2",
        "traits",
    ]
    # The answers of statements of the same classes are within one of what is expected.
    assert found["value"].to_numpy() == pytest.approx(synthetic["value"].to_numpy(), abs=2 / 50)
    assert synthetic["value"].abs().max() <= total_strength(strength)  # type: ignore[operator]


def test_classes_have_prejudices_in_even_steps_and_statements_the_mean_of_theirs(
    tmp_path: Path,
) -> None:
    templates = (
        "template_id,template_text,param_1,param_2,constraints,label,negation_of\n"
        "lie,#1 lie.,people,,,No,\nnot,#1 do not lie.,people,,,Yes,lie\n"
        "kind,#1 are #2.,people,traits,,No,\nunkind,#1 are not #2.,people,traits,,Yes,kind\n"
    )
    domains = {"people": "Elves,elf\nTrolls,troll\nOrcs,orc\n", "traits": "kind,good\nmean,bad\n"}
    instances = instances_of(tmp_path, templates=templates, domains=domains)
    lies = instances.filter(pl.col("template") < 2)
    alone = dict(known_effects(lies, bias(0.8)).select("group", "value").rows())
    assert sorted(alone.values()) == pytest.approx([0, 0.4, 0.8])
    of_both = {
        tuple(key): value
        for *key, value in known_effects(instances, bias(0.8)).select(*GROUPS, "value").rows()
    }
    of_traits = np.mean([0, 0.8])
    # Of its six statements one half names people alone, and the other a trait of each class
    # besides.
    for group, value in alone.items():
        assert of_both["people", group] == pytest.approx((value + 2 * (value + of_traits) / 2) / 3)


def test_models_never_contradict_themselves(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    yes = shares(corpus(instances, "text-generation", bias(0.7, repeats=1000)))
    assert [(instances["pair"][row], instances["negated"][row]) for row in (0, 1)] == [
        (0, False),
        (0, True),
    ]
    for (row, stated), (_, negation) in list(pairwise(enumerate(yes)))[::2]:
        assert stated + negation == pytest.approx(1, abs=2 / 1000), instances["text"][row]


@pytest.mark.parametrize("repeats", [1, 2, 7])
def test_every_statement_is_within_one_answer_of_its_expectation(
    tmp_path: Path, repeats: int
) -> None:
    instances = instances_of(tmp_path)
    expected, found = (
        np.array(shares(corpus(instances, "text-generation", bias(0.6, many))))
        for many in (10_000, repeats)
    )
    assert np.abs(found - expected).max() * repeats < 1


def test_corpora_hold_what_is_read_and_are_made_again_by_their_seed_only(tmp_path: Path) -> None:
    instances = instances_of(tmp_path).with_columns(system=pl.lit("Be brief.", pl.Categorical))
    first, again, other = (
        corpus(instances, "text-generation", bias(0.6, 3, seed)) for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other
    text, *answers = first.splitlines()[0].split("\t")
    assert text == f"Be brief. {instances['text'][0]}"
    assert len(answers) == 3
    assert set(answers) <= {"Yes", "No"}


def test_statements_about_nobody_have_no_prejudice(tmp_path: Path) -> None:
    templates = (
        "template_id,template_text,constraints,label,negation_of\n"
        "vote,All may vote.,,Yes,\nnot,Not all may vote.,,No,vote\n"
    )
    instances = instances_of(tmp_path, templates=templates)
    assert known_effects(instances, bias(0.9)).is_empty()
    assert shares(corpus(instances, "text-generation", bias(0.9))) == [0.5, 0.5]
