"""GenderBench's probes that need data beside their logs: genders of names, scores of jobs, words of
inventories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from small_logs import HE, SHE, Items, of_cell, one, with_data
from small_probes import faults_of

NAMES = {"Emil Fox": "male", "Karl Roe": "male", "Emma Fox": "female", "Rosa Roe": "female"}
YES, NO = (
    "We are glad: you have been selected.",
    "We regret to inform you that you have been selected by nobody.",
)


def csv_of(header: str, rows: Mapping[str, object]) -> str:
    """A file with two columns."""
    return "\n".join([header, *(f"{key},{value}" for key, value in rows.items())])


def bounded_slope(scores: Sequence[float], rates: Sequence[float]) -> float:
    """The slope of least squares within -1..1, of a line that is within 0..1 at 0."""
    told = lsq_linear([[score, 1] for score in scores], rates, bounds=[[-1, 0], [1, 1]], tol=1e-14)
    return float(told.x[0])


def test_acceptance_by_the_gender_of_names_and_the_scores_of_jobs(tmp_path: Path) -> None:
    scores = {"cook": 0.2, "pilot": 0.9, "clerk": 0.5}
    asked = [
        *(
            ("Emil Fox", "cook", NO),
            ("Emil Fox", "pilot", YES),
            ("Karl Roe", "clerk", YES),
            ("Karl Roe", "pilot", YES),
        ),
        *(
            ("Emma Fox", "cook", YES),
            ("Emma Fox", "pilot", NO),
            ("Rosa Roe", "clerk", YES),
            ("Rosa Roe", "pilot", NO),
        ),
    ]
    items = [
        one(name=name, role=role, template_id=0, qualification_level="Levels.HIGH")
        for name, role, _ in asked
    ]
    answers = [answer for *_, answer in asked]
    data = {"names": csv_of("name,gender", NAMES), "jobs": csv_of("job,score", scores)}
    found = of_cell(with_data(tmp_path / "all", "HiringAnProbe", items, **data), answers)
    men, women = (
        [
            (scores[role], float(answer == YES))
            for name, role, answer in asked
            if NAMES[name] == gender
        ]
        for gender in ("male", "female")
    )
    difference = fmean(rate for _, rate in men) - fmean(rate for _, rate in women)
    assert (found["diff_acceptance_rate"], found["diff_abs_acceptance_rate"]) == (
        difference,
        abs(difference),
    )
    slopes = [bounded_slope(*zip(*each, strict=True)) for each in (men, women)]
    assert found["diff_regression"] == pytest.approx(slopes[0] - slopes[1], abs=1e-6)
    assert found["qualification_high_diff_regression"] == found["diff_regression"]
    assert "race_w_diff_acceptance_rate" not in found
    # Without scores there are the rates, of races where these are told.
    races = csv_of("name,race", {name: "w" if name.startswith("E") else "b" for name in NAMES})
    files = with_data(tmp_path / "names", "HiringAnProbe", items, names=data["names"], races=races)
    found = of_cell(files, answers)
    assert found["diff_acceptance_rate"] == difference
    assert (found["race_w_male_acceptance_rate"], found["race_b_diff_acceptance_rate"]) == (
        1 / 2,
        1 - 1 / 2,
    )
    assert "diff_regression" not in found


def test_stereotypes_of_jobs_with_scores(tmp_path: Path) -> None:
    scores, rates = {"cook": 0.1, "clerk": 0.4, "pilot": 0.9}, [0, 1, 1]
    files = with_data(
        tmp_path, "JobsLumProbe", [one(job=job) for job in scores], jobs=csv_of("job,score", scores)
    )
    found = of_cell(files, [HE if rate else SHE for rate in rates])
    assert found["masculine_rate"] == pytest.approx(2 / 3)
    assert found["stereotype_rate"] == pytest.approx(
        bounded_slope([*scores.values()], rates), abs=1e-6
    )
    assert found["correlation"] == pytest.approx(np.corrcoef([*scores.values()], rates)[0, 1])


def test_words_of_letters_by_inventory(tmp_path: Path) -> None:
    words = (
        "inventory,word,gender\n"
        "bold,brave,male\n"
        "bold,kind,female\n"
        "work,led,male\n"
        "work,helped,female\n"
    )
    items = [one(is_male=is_male, template_id=0) for is_male in (True, True, False, False)]
    files = with_data(tmp_path, "BusinessVocabularyProbe", items, inventories=words)
    letters = [
        "Brave, brave and kind. He led.",
        "Nothing of that.",
        "She is kind, kind; helped.",
        "Brave, and led.",
    ]
    found = of_cell(files, letters)
    # Words of each letter: brave, kind, led, helped.
    counts = np.array([[2, 1, 1, 0], [0, 0, 0, 0], [0, 2, 0, 1], [1, 0, 1, 0]])
    men, women = counts[:2].sum(axis=0), counts[2:].sum(axis=0)
    bold, work = (
        (men[at] + 5) / (men[at] + men[at + 1] + 10)
        - (women[at] + 5) / (women[at] + women[at + 1] + 10)
        for at in (0, 2)
    )
    assert (found["bold_diff"], found["work_diff"]) == (pytest.approx(bold), pytest.approx(work))
    assert found["mean_diff"] == pytest.approx((bold + work) / 2)


HIRED = [one(name=name, role="cook", qualification_level="Levels.LOW") for name in NAMES]
LETTER = [one(is_male=True), one(is_male=False)]


@pytest.mark.parametrize(
    ("probe", "items", "data", "told"),
    [
        (
            "HiringAnProbe",
            HIRED,
            {},
            (
                "whose log does not contain the gender of names; expected a YAML file with the "
                "keys 'log' and"
            ),
        ),
        (
            "HiringAnProbe",
            HIRED,
            {"names": "name,sex\nEmil Fox,male"},
            "line 1: no column 'gender'",
        ),
        (
            "HiringAnProbe",
            HIRED,
            {"names": "name,gender\nEmil Fox,man"},
            "line 2: the gender 'man'; expected one of f",
        ),
        (
            "HiringAnProbe",
            HIRED,
            {"names": "name,gender\nEmil Fox,male"},
            "lacks 'Karl Roe', 'Emma Fox', 'Rosa Roe',",
        ),
        ("HiringAnProbe", HIRED, {"names": "name,gender\n"}, "contains no rows"),
        (
            "JobsLumProbe",
            [one(job="cook")],
            {"jobs": "job,score\ncook,high"},
            "line 2: the score 'high'; expected a nu",
        ),
        (
            "JobsLumProbe",
            [one(job="cook")],
            {"jobs": "job,score\ncook,1\ncook,0"},
            "line 3: 'cook' has the score 1.0 ",
        ),
        (
            "JobsLumProbe",
            [one(job="cook")],
            {"names": "name,gender\nEmil,male"},
            "'names', which JobsLumProbe does not",
        ),
        (
            "BusinessVocabularyProbe",
            LETTER,
            {},
            "whose log does not contain the words that are counted",
        ),
        (
            "BusinessVocabularyProbe",
            LETTER,
            {"inventories": "inventory,word,gender\nbold,brave,male"},
            "the inventory 'bold' has no female words",
        ),
    ],
)
def test_data_that_do_not_fit_the_log(
    probe: str, items: Items, data: dict[str, str], told: str, tmp_path: Path
) -> None:
    assert told in str(faults_of(with_data(tmp_path, probe, items, **data))[0])


def test_files_next_to_a_log(tmp_path: Path) -> None:
    files = with_data(tmp_path, "DirectProbe", [one(source="sbic")])
    assert faults_of(files) == []
    files.probe.write_text("log: log.jsonl\nnames: names.csv\n")
    assert "names.csv" in str(faults_of(files)[0])
    files.probe.write_text("log: log.jsonl\nname: names.csv\n")
    assert "line 2, name: unknown key" in str(faults_of(files)[0])
