"""Mistakes of newcomers with commands: what is given to them, and terminals that are too narrow."""

from __future__ import annotations

import json
from pathlib import Path

import base
import pytest
from test_mistaken_results import told
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.cli.output import PlainConsole
from biasgrid.cli.quickstart.ask import TypedTextError, typed_line


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without faults, in which commands run."""
    base.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_model(architecture: str) -> None:
    """Makes the project's checkpoint a BERT of a class."""
    content = {"model_type": "bert", "architectures": [architecture]}
    Path("models/tiny/config.json").write_text(json.dumps(content))


def test_a_config_is_no_model(project: Path) -> None:
    assert told("try", "config.yaml") == (
        "config.yaml: is a config, and `try` takes a model; expected `biasgrid run config.yaml`, or "
        "the folder of a model\n"
    )


def in_a_line(text: str) -> str:
    """Text in a box, as one line."""
    return " ".join(line.strip("\u2502 ") for line in text.splitlines())


def test_a_config_is_no_command(project: Path) -> None:
    assert "config.yaml is no command; expected biasgrid run config.yaml" in in_a_line(
        told("config.yaml")
    )


def test_a_missing_config_or_results_folder_gets_a_list_of_existing_ones(project: Path) -> None:
    Path("results/mine").mkdir(parents=True)
    for command, ending in {
        "run": "Missing argument 'config'. Here: config.yaml.",
        "summary": "Missing argument 'results'. None is here; `biasgrid run CONFIG` makes one.",
    }.items():
        assert ending in in_a_line(told(command))
    Path("results/mine/.made_with.json").touch()
    assert "Here: results/mine." in in_a_line(told("summary"))
    Path("config.yaml").unlink()
    assert "None is here; `biasgrid init` or `biasgrid try` writes one." in in_a_line(told("run"))


def test_a_checkpoint_without_a_tokenizer_gets_a_single_line(project: Path) -> None:
    write_model("BertForMaskedLM")
    Path("models/tiny/vocab.txt").unlink()
    message = told("try", "models/tiny", "--on", "gender")
    assert message.startswith("models/tiny: contains no tokenizer; expected one of tokenizer.json,")
    assert "AutoTokenizer.from_pretrained(BASE).save_pretrained('models/tiny')" in message
    assert message.count("\n") == 1


def test_an_encoder_without_a_head_gets_a_short_message(project: Path) -> None:
    write_model("BertModel")
    message = told("try", "models/tiny", "--on", "gender")
    assert message.startswith("models/tiny: BertModel has no head for a task: choose a checkpoint")
    assert len(message.split()) < 30


@pytest.mark.parametrize("mask", ["<mask>", "[mask]", "[MASK]"])
def test_a_mask_in_the_spelling_of_another_tokenizer_is_read(mask: str) -> None:
    typed = typed_line("fill-mask", f"Ann met Bob. {mask} was a cook. | Ann | Bob")
    assert typed.row["text"] == "Ann met Bob. [MASK] was a cook."


def test_a_text_without_a_mask_gets_an_example() -> None:
    with pytest.raises(TypedTextError, match=r"has no masks; expected TEXT WITH \[MASK\] \| WORD"):
        typed_line("fill-mask", "Ann met Bob. ___ was a cook. | Ann | Bob")


def test_groups_with_unequal_numbers_of_terms_get_a_warning(project: Path) -> None:
    groups = {"age": {"young": ["kid"], "old": ["elder", "senior", "pensioner", "veteran"]}}
    Path("word_lists/pack/groups.json").write_text(json.dumps(groups))
    result = CliRunner().invoke(app, ["validate", "config.yaml"])
    assert result.exit_code == 0
    assert (
        "warning: moods: the groups of 'age' have unequal numbers of terms ('young' has 1, 'old' "
        "4): a difference between them may be that of a single term; expected about as many terms "
        "in each group\n"
    ) in result.stdout


def test_a_narrow_terminal_cuts_no_name_of_a_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        line.split()[0]
        for width in (60, 200)
        for line in list_at(width, monkeypatch)
        if line.startswith(("gender-state", "question-answ", "disability-"))
    ]
    assert names == ["gender-statements", "disability-statements", "question-answering"] * 2


def list_at(width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("biasgrid.cli.commands.list.console", PlainConsole(width=width))
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    return result.stdout.splitlines()
