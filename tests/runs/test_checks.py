"""What is checked before a run: the folder of results and its config, and words of models."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from small_grid import read_grid, write_general_grid, write_grid

from biasgrid.base.faults import InputError, UserError
from biasgrid.config import load_word_lists
from biasgrid.jobs.cell_warnings import gather_warnings
from biasgrid.runs.checks import (
    CONFIGS_NOTE,
    refuse_unknown_subjects,
    remember_configs,
    word_warnings,
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two configs, and results that are made with the first of them."""
    folder = tmp_path / "project"
    (folder / "results").mkdir(parents=True)
    for name in ("first.yaml", "second.yaml"):
        (folder / name).write_text("title: x\n")
    monkeypatch.chdir(folder)
    remember_configs("results", ["first.yaml"])
    return folder


def test_another_config_is_reported_with_both_names_and_what_to_do(project: Path) -> None:
    told = (
        "results: made with first.yaml, but this run uses second.yaml and would overwrite those "
        "outputs; set `results` in second.yaml to a different folder, or remove "
        "results/.made_with.json to use this one"
    )
    with pytest.raises(UserError, match=f"^{re.escape(told)}$"):
        remember_configs("results", ["second.yaml"])
    with pytest.raises(
        UserError, match=re.escape("made with first.yaml, but this run uses first.yaml and second")
    ):
        remember_configs("results", ["first.yaml", "second.yaml"])
    (project / "results" / CONFIGS_NOTE).unlink()
    remember_configs("results", ["second.yaml"])
    with pytest.raises(UserError, match=re.escape("made with second.yaml")):
        remember_configs("results", ["first.yaml"])


def test_a_file_is_recognised_by_any_path(project: Path) -> None:
    (project / "elsewhere").symlink_to(project)
    before = (project / "results" / CONFIGS_NOTE).read_bytes()
    for path in ("./first.yaml", str(project / "first.yaml"), "elsewhere/first.yaml"):
        remember_configs("results", [path])
        remember_configs(project / "results", [path])
    (project / "first.yaml").write_text("title: edited\n")
    remember_configs("results", ["first.yaml"])
    assert (project / "results" / CONFIGS_NOTE).read_bytes() == before


def test_a_project_that_has_moved_knows_its_config(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = project.rename(project.with_name("moved"))
    monkeypatch.chdir(moved)
    remember_configs("results", ["first.yaml"])
    with pytest.raises(UserError, match=r"made with first\.yaml, but"):
        remember_configs("results", ["second.yaml"])


def test_results_behind_a_link_know_their_config(project: Path) -> None:
    disk = project.with_name("disk")
    (project / "results").rename(disk)
    (project / "results").symlink_to(disk)
    remember_configs("results", ["first.yaml"])
    # What lies beside the disk is not what lies beside the link.
    disk.with_name("first.yaml").write_text("title: another\n")
    remember_configs("results", ["first.yaml"])


def test_a_name_that_is_not_utf_8_is_remembered(project: Path) -> None:
    odd = os.fsdecode(b"\xff.yaml")
    remember_configs("other", [odd])
    remember_configs("other", [odd])


@pytest.mark.parametrize("content", [b"", b"["])
def test_a_damaged_note_is_named(project: Path, content: bytes) -> None:
    (project / "results" / CONFIGS_NOTE).write_bytes(content)
    with pytest.raises(
        UserError,
        match=r"results/.made_with.json: not a list of config files .*; remove it and run again",
    ):
        remember_configs("results", ["first.yaml"])


Checkpoints = Callable[[str, str], Path]


def warnings(path: Path) -> list[str]:
    config = read_grid(path)
    return gather_warnings(word_warnings(config, load_word_lists(config)))


@pytest.mark.family("its names and templates are words of the tiny tokenizers")
@pytest.mark.parametrize(("architecture", "is_known"), [("bert", False), ("roberta", True)])
def test_words_for_which_the_tokenizer_has_no_token_are_named(
    tmp_path: Path, tiny_checkpoint: Checkpoints, architecture: str, is_known: bool
) -> None:
    config = write_grid(
        tmp_path, checkpoint=str(tiny_checkpoint(architecture, "question-answering"))
    )
    assert warnings(config) == []

    subjects = tmp_path / "word_lists" / "subjects.txt"
    subjects.write_text(subjects.read_text().replace("Ann", "Ann\N{SNOWMAN}"))
    found = warnings(config)
    assert (found == []) == is_known
    if not is_known:
        assert "contain text that the tokenizer does not know" in found[0]
        assert "\N{SNOWMAN}" in found[0]


@pytest.mark.family("its names and templates are words of the tiny tokenizers")
def test_a_tokenizer_of_another_language_is_reported(
    tmp_path: Path, tiny_checkpoint: Checkpoints
) -> None:
    config = write_grid(tmp_path, checkpoint=str(tiny_checkpoint("roberta", "question-answering")))
    assert warnings(config) == []
    (tmp_path / "word_lists/attributes.txt").write_text(
        "[act] keitti hernekeittoa\n[act:neg] ei keittänyt puuroa\n"
    )
    question = "[subj1] istahti [subj2] vieressä.\tKuka [act]?\tKuka [act:neg]?\n"
    (tmp_path / "word_lists/qa.txt").write_text(question)
    found = warnings(config)
    assert any(
        "the tokenizer splits half of the words into" in each and "hernekeittoa" in each
        for each in found
    )


@pytest.mark.family("subjects of one token are asked for in one of them")
def test_a_variant_without_subjects_is_refused_before_it_is_asked(
    tmp_path: Path, tiny_checkpoint: Checkpoints
) -> None:
    path = write_grid(
        tmp_path,
        checkpoint=str(tiny_checkpoint("bert", "fill-mask")),
        run={"models": ["masked"], "datasets": ["pairs"]},
    )
    refuse_unknown_subjects(config := read_grid(path), load_word_lists(config))
    subjects = tmp_path / "word_lists" / "subjects.txt"
    subjects.write_text("[subj] African-American\n[subj] Ann\n")
    lists = load_word_lists(config := read_grid(path))
    with pytest.raises(
        InputError,
        match=r"variants.lm-tiny: nothing to ask, because too few subjects are a single token of the",
    ):
        refuse_unknown_subjects(config, lists)


def test_without_a_tokenizer_at_hand_nothing_is_said(tmp_path: Path) -> None:
    assert warnings(write_general_grid(tmp_path)) == []
