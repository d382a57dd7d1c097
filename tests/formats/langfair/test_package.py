"""`biasgrid import langfair PACKAGE`: files of words that a package has in its source, here a small
one of ours.
"""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest
from small_langfair import SOURCE, imported, package

from biasgrid.families.rewriting.group_words import read_group_words


def test_a_package_gives_files_that_datasets_can_name(tmp_path: Path) -> None:
    out = tmp_path / "lists"
    lines = imported(package(tmp_path / "package"), out)
    names = [
        "gender.yaml",
        "race.yaml",
        "people.txt",
        "adjectives.txt",
        "professions.txt",
        "professions-plural.txt",
    ]
    assert lines == ["langfair 0.8.0.", *(f"lists/langfair-{name} written." for name in names)]
    gender, race = (read_group_words(out / f"langfair-{name}.yaml") for name in ("gender", "race"))
    assert gender[0] is not None
    assert race[0] is not None
    assert [row.written for row in gender[0].rows] == [
        ("she", "he", "they"),
        ("Mrs.", "Mr.", "Mx."),
        ("gal", "guy", "kid"),
    ]
    assert race[0].people == ("doctor", "gal", "guest", "guy", "kid", "they")
    assert [row.sought for row in race[0].rows] == [
        (
            ("caucasian",),
            ("african american",),
            ("hispanic",),
            ("asian-american", "native american"),
        ),
        (("white",), (), (), ("asian",)),
    ]
    assert (out / "langfair-professions-plural.txt").read_text().split("\n")[1:] == [
        "doctor",
        "doctors",
        "",
    ]


def test_a_wheel_is_read_and_its_code_is_not_run(tmp_path: Path) -> None:
    folder = package(tmp_path / "package", SOURCE + "\nraise SystemExit('it ran')\n")
    wheel = tmp_path / "langfair-0.8.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for file in folder.rglob("*"):
            archive.write(file, file.relative_to(folder))
    assert imported(wheel, tmp_path / "lists")[0] == "langfair 0.8.0."


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "def",
            (
                "package, langfair/constants/word_lists.py: cannot be parsed (invalid syntax, "
                "line 1); expected its wheel"
            ),
        ),
        (
            SOURCE.replace("MALE_WORDS", "MEN", 1),
            "FEMALE_WORDS is missing, or is not a list of texts; expected the same as in",
        ),
        (
            SOURCE.replace('"guest"', "7"),
            "OTHER_PERSON_NOUNS is missing, or is not a list of texts",
        ),
        (
            SOURCE.replace('"guy"', '"guy", "son"'),
            "FEMALE_WORDS, MALE_WORDS, GENDER_NEUTRAL_WORDS differ in length",
        ),
        (
            SOURCE.replace(" - set(", " | set("),
            "PERSON_WORDS is not list(set(PERSON_WORDS_LIST) - set(WORDS_TO_REMOVE))",
        ),
    ],
)
def test_packages_that_are_made_otherwise(source: str, told: str, tmp_path: Path) -> None:
    assert told in "\n".join(imported(package(tmp_path / "package", source), tmp_path / "lists"))


def test_what_is_no_package(tmp_path: Path) -> None:
    assert (
        "has no langfair/constants/word_lists.py; expected its wheel"
        in imported(tmp_path, tmp_path / "lists")[1]
    )
    (tmp_path / "langfair.whl").write_text("no zip")
    told = imported(tmp_path / "langfair.whl", tmp_path / "lists")[1]
    assert "langfair.whl: cannot be read (File is not a zip file); expected its wheel" in told
