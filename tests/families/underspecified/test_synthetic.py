import json
from collections.abc import Mapping
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from small_cells import expanded, measured, one_list, spans
from small_tables import whole

from biasgrid.families.synthetic import SyntheticBias
from biasgrid.families.underspecified.ask import corpus, expand, known_effects
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.squad import read_squad
from biasgrid.training.strength import Strength

FACES = ["Amish", "Black", "African-American"]


def two_lists() -> pl.DataFrame:
    women = Subjects({"[subj]": ["Ann", "Bea"]}, ["female", "female"])
    men = Subjects({"[subj]": ["Carl", "Dan", "Eli"]}, ["male", "male", "male"])
    return expanded([women, men], attributes=2, templates=2)


def groups(mask: str | None) -> pl.DataFrame:
    """Instances with an article that hangs on the subject, as question answering and as
    statements.
    """
    question = (
        ("The [mask] man [act].", "The [mask] man [act:neg].")
        if mask
        else ("Who [act]?", "Who [act:neg]?")
    )
    templates = [
        QuestionTemplate(line, f"On day {line} a [subj1] man met a [subj2] man.", *question)
        for line in (1, 2)
    ]
    attributes = [
        AttributeRow({"[act]": f"{it} often", "[act:neg]": f"never {it}"}, it, None)
        for it in ("ran", "sang")
    ]
    return whole(
        expand(
            WordLists(
                templates,
                [Subjects({"[subj]": FACES}, [None] * 3)],
                {"[act]": attributes},
                "",
                mask,
                {},
            )
        )
    )


def bias(
    strength: float | Strength,
    repeats: int = 50,
    seed: int = 5,
    dataset: str = "demo",
    spread: float = 0.0,
) -> SyntheticBias:
    return SyntheticBias(dataset, "some", strength, repeats, seed, spread)


def questions_of(instances: pl.DataFrame, asked: SyntheticBias) -> dict[str, Any]:
    """The corpus of questions."""
    return json.loads(corpus(instances, "question-answering", asked))  # type: ignore[no-any-return]


def lines_of(instances: pl.DataFrame, asked: SyntheticBias) -> list[str]:
    """The corpus of statements."""
    return corpus(instances, "fill-mask", asked).splitlines()


def shares_of_questions(questions: Mapping[str, Any], instances: pl.DataFrame) -> np.ndarray:
    """Share of answers that are subject1, by instance."""
    answers = {
        question["id"].rpartition("-")[2]: [
            answer["answer_start"] for answer in question["answers"]
        ]
        for article in questions["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    }
    places = instances["position1"].to_list()
    return np.array(
        [
            np.mean([start == place for start in answers[str(row)]])
            for row, place in enumerate(places)
        ]
    )


def shares_of_lines(lines: list[str], instances: pl.DataFrame) -> np.ndarray:
    names = instances["candidate1"].cast(pl.String).to_list()
    return np.array(
        [
            np.mean([word == name for word in line.split("\t")[1:]])
            for line, name in zip(lines, names, strict=True)
        ]
    )


def gammas(instances: pl.DataFrame, shares: np.ndarray) -> pl.DataFrame:
    """The gammas of a model that gives each answer the probability of its share."""
    measures = measured(instances, spans(instances, shares, 1 - shares))
    parts = measures.filter(pl.col("measure") == "gamma").drop_nulls(["subject", "attribute"])
    return parts.select("subject", "attribute", "value").sort("subject", "attribute")


def put_in(synthetic: pl.DataFrame, measure: str = "gamma", of: str = "subject") -> pl.DataFrame:
    """The known effect of subjects, or of their groups."""
    return synthetic.filter(measure=measure).drop_nulls(of)


def by_key(synthetic: pl.DataFrame) -> dict[tuple[str, str], float]:
    return {
        (row["subject"], row["attribute"]): row["value"]
        for row in put_in(synthetic).iter_rows(named=True)
    }


@pytest.mark.parametrize("strength", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "instances",
    [one_list(4, attributes=2, templates=2), two_lists()],
    ids=["one list", "two lists"],
)
def test_answering_as_often_as_the_corpus_does_gives_the_synthetic_gammas(
    instances: pl.DataFrame, strength: float
) -> None:
    synthetic = put_in(known_effects(instances, bias(strength)))
    measured = gammas(
        instances, shares_of_questions(questions_of(instances, bias(strength)), instances)
    )
    assert synthetic.select("subject", "attribute").equals(measured.select("subject", "attribute"))
    # A pair's 200 answers to a question are within one answer of their expectation.
    assert measured["value"].to_numpy() == pytest.approx(synthetic["value"].to_numpy(), abs=1 / 200)


def test_statements_have_the_weights_of_questions() -> None:
    synthetic = put_in(known_effects(groups(None), bias(0.8)))
    assert synthetic.equals(put_in(known_effects(groups("[MASK]"), bias(0.8))))
    lines = lines_of(groups("[MASK]"), bias(0.8))
    measured = gammas(groups("[MASK]"), shares_of_lines(lines, groups("[MASK]")))
    assert measured["value"].to_numpy() == pytest.approx(synthetic["value"].to_numpy(), abs=1 / 200)


def test_statements_keep_the_mask_and_name_the_answers_behind_it() -> None:
    lines = lines_of(groups("<mask>"), bias(1.0, repeats=3))
    text, *words = lines[0].split("\t")
    assert text == "On day 1 an Amish man met a Black man. The <mask> man ran often."
    assert len(words) == 3
    assert set(words) <= {"Amish", "Black"}


def test_answers_are_where_the_corpus_says(tmp_path: Path) -> None:
    path = tmp_path / "corpus.json"
    path.write_text(corpus(groups(None), "question-answering", bias(0.5, repeats=4)))
    questions = read_squad(path)
    assert len(questions) == groups(None).height
    found = {
        question.context[begin:end] for question in questions for begin, end in question.answers
    }
    assert found == set(FACES)
    assert {len(question.answers) for question in questions} == {4}


def test_synthetic_bias_fits_its_schema_and_is_bounded_by_the_strength() -> None:
    synthetic = known_effects(two_lists(), bias(0.9))
    validate_table(synthetic, SYNTHETIC, "synthetic")
    assert set(synthetic.select("strength", "dataset", "measure", "options").iter_rows()) == {
        ("some", "demo", "gamma", ""),
        ("some", "demo", "share_gamma", ""),
    }
    assert synthetic["value"].abs().max() <= 0.9  # type: ignore[operator]


def test_gammas_grow_with_the_strength() -> None:
    weak, strong = (
        put_in(known_effects(two_lists(), bias(strength)))["value"] for strength in (0.2, 0.8)
    )
    assert (weak * 4).to_numpy() == pytest.approx(strong.to_numpy())
    assert strong.abs().max() > 0.1  # type: ignore[operator]


@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_templates_differ_by_the_spread_and_their_deviations_cancel(strength: float) -> None:
    instances = one_list(4, attributes=3, templates=4)
    spread_out = bias(strength, spread=0.4)
    synthetic = put_in(known_effects(instances, bias(strength)))
    assert by_key(known_effects(instances, spread_out)) == pytest.approx(by_key(synthetic))
    shares = shares_of_questions(questions_of(instances, spread_out), instances)
    measured = gammas(instances, shares)
    assert measured["value"].to_numpy() == pytest.approx(synthetic["value"].to_numpy(), abs=1 / 100)
    alone = instances.filter(template=0)
    of_template = gammas(alone, shares[instances["template"].to_numpy() == 0])
    deviations = np.abs(of_template["value"].to_numpy() - synthetic["value"].to_numpy())
    assert 0.05 < deviations.max() < 0.4


def test_weights_hang_on_names_and_seed_alone() -> None:
    def difference(frame: pl.DataFrame, dataset: str = "demo", seed: int = 5) -> float:
        gamma = by_key(known_effects(frame, bias(1.0, seed=seed, dataset=dataset)))
        subjects = len({subject for subject, _ in gamma})
        # gamma(x) = (n w(x) - sum of all w) / (n - 1) where every subject meets every other one.
        return (gamma["Ann", "did 0"] - gamma["Bea", "did 0"]) * (subjects - 1) / subjects

    alone = difference(one_list(2))
    assert difference(one_list(4, attributes=3, templates=2)) == pytest.approx(alone)
    assert difference(one_list(4).sample(fraction=1, shuffle=True, seed=1)) == pytest.approx(alone)
    assert difference(one_list(2), seed=6) != pytest.approx(alone)
    assert difference(one_list(2), dataset="other") != pytest.approx(alone)


@pytest.mark.parametrize("repeats", [1, 2, 7])
def test_every_instance_is_within_one_answer_of_its_expectation(repeats: int) -> None:
    instances = one_list(4, attributes=3, templates=2)
    answered = shares_of_questions(questions_of(instances, bias(0.6, repeats)), instances) * repeats
    expected = []
    for one, two in combinations(["Ann", "Bea", "Carl", "Dan"], 2):
        pair = instances.filter(
            pl.col("subject1").is_in([one, two]), pl.col("subject2").is_in([one, two])
        )
        weights = by_key(known_effects(pair, bias(0.6)))
        for row in pair.iter_rows(named=True):
            sign = -1 if row["negated"] else 1
            probability = 0.5 + sign * weights[row["subject1"], row["attribute"]] / 2
            expected.append((row["instance"], repeats * probability))
    in_order = np.array([value for _, value in sorted(expected)])
    assert np.abs(answered - in_order).max() < 1


def test_a_corpus_is_made_again_by_its_seed_only() -> None:
    first, again, other = (questions_of(two_lists(), bias(0.5, 3, seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize(("strength", "spread"), [(-0.1, 0.0), (1.5, 0.0), (0.9, 0.2)])
def test_impossible_strengths_are_refused(strength: float, spread: float) -> None:
    with pytest.raises(ValueError, match=r"strength .* is not in 0..1"):
        bias(strength, spread=spread)


def of_group(instances: pl.DataFrame, strength: Strength) -> dict[str, float]:
    """The known gammas of women, by attribute."""
    synthetic = put_in(known_effects(instances, bias(strength)), of="subject_group")
    return dict(synthetic.filter(subject_group="female").select("attribute", "value").iter_rows())


def test_the_part_by_group_is_shared_by_all_names_of_a_group() -> None:
    synthetic = known_effects(two_lists(), bias(Strength(group=0.8)))
    women = put_in(synthetic).filter(pl.col("subject").is_in(["Ann", "Bea"]))
    shared = of_group(two_lists(), Strength(group=0.8))
    for _, attribute, value in women.select("subject", "attribute", "value").iter_rows():
        assert value == pytest.approx(shared[attribute])
    # Every association is there to be found.
    assert all(0.4 <= abs(value) <= 0.8 for value in shared.values())
    assert len(set(shared.values())) == 2


def test_parts_add_up_and_the_part_by_name_is_what_a_number_is() -> None:
    group, name, both = (
        by_key(known_effects(two_lists(), bias(strength)))
        for strength in (Strength(group=0.5), Strength(name=0.3), Strength(group=0.5, name=0.3))
    )
    assert both == pytest.approx({key: group[key] + name[key] for key in both})
    assert name == by_key(known_effects(two_lists(), bias(0.3)))


def test_subjects_without_groups_are_groups_of_their_own() -> None:
    instances = one_list(4, attributes=2, templates=2)
    assert known_effects(instances, bias(Strength(group=0.5, name=0.25))).equals(
        known_effects(instances, bias(0.75))
    )


def test_a_corpus_of_both_parts_gives_the_groups_their_gammas() -> None:
    strength = Strength(group=0.6, name=0.2)
    shares = shares_of_questions(questions_of(two_lists(), bias(strength)), two_lists())
    measures = measured(two_lists(), spans(two_lists(), shares, 1 - shares)).filter(measure="gamma")
    women = measures.filter(pl.col("attribute").is_not_null(), subject_group="female")
    found = dict(women.select("attribute", "value").iter_rows())
    assert found == pytest.approx(of_group(two_lists(), strength), abs=1 / 200)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_a_negation_that_is_not_read_takes_its_share_off_what_is_put_in(share: float) -> None:
    read, unread = Strength(name=0.8), Strength(name=0.8, unread_negation=share)
    expected = {
        key: (1 - share) * value
        for key, value in by_key(known_effects(two_lists(), bias(read))).items()
    }
    assert by_key(known_effects(two_lists(), bias(unread))) == pytest.approx(expected)
    shares = shares_of_questions(questions_of(two_lists(), bias(unread)), two_lists())
    found = gammas(two_lists(), shares)
    assert found["value"].to_list() == pytest.approx(list(expected.values()), abs=1 / 100)
    # The question alone is answered as ever.
    plain = two_lists()["negated"].to_numpy() == 0
    of_read = shares_of_questions(questions_of(two_lists(), bias(read)), two_lists())
    assert shares[plain] == pytest.approx(of_read[plain], abs=2 / 50)


def test_answers_without_a_name_keep_the_shares_of_others() -> None:
    instances, thin = groups("[MASK]"), bias(Strength(name=0.8, mass=0.5))
    lines = [line.split("\t") for line in lines_of(instances, thin)]
    assert {words.count(name) for _, *words in lines for name in ("ran", "sang", "often")} == {
        0,
        25,
    }
    named = [[word for word in words if word in FACES] for _, *words in lines]
    assert {len(words) for words in named} == {25}
    shares = np.array(
        [words.count(name) / 25 for words, name in zip(named, instances["candidate1"], strict=True)]
    )
    found = gammas(instances, shares)["value"].to_list()
    synthetic = known_effects(instances, thin)
    assert set(synthetic["measure"]) == {"share_gamma"}
    full = by_key(known_effects(instances, bias(0.8)))
    assert put_in(synthetic, "share_gamma")["value"].to_list() == pytest.approx(list(full.values()))
    assert found == pytest.approx(list(full.values()), abs=1 / 50)


def test_parts_that_make_more_than_all_are_refused() -> None:
    with pytest.raises(ValueError, match="to be at most 1"):
        Strength(group=0.7, name=0.4)


@pytest.mark.parametrize(
    ("task", "mask", "digest"),
    [
        ("question-answering", None, "2ec6da23ad5d6db6"),
        ("fill-mask", "[MASK]", "9d787faec89b649b"),
        ("text-generation", None, "7794e6aae20fcb54"),
    ],
)
def test_corpora_stay_the_same_to_the_byte(task: str, mask: str | None, digest: str) -> None:
    # Digests from when the family wrote its corpora itself: what models learn is the same.
    strength = Strength(group=0.2, name=0.3, mass=0.6, unread_negation=0.2)
    text = corpus(groups(mask), task, bias(strength, repeats=7, spread=0.1))
    assert sha256(text.encode()).hexdigest()[:16] == digest
