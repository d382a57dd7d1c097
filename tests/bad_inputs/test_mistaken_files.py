"""Mistakes of newcomers in files: the message names the likely cause and shows what is right, or the
file is read, and that is said once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import base
import pytest
from in_time import in_time
from typer.testing import CliRunner

from biasgrid.cli.app import app

pytestmark = pytest.mark.usefixtures(in_time.__name__)
SUBJECTS, TEMPLATES, CASES = (
    "word_lists/subjects/people.txt",
    "word_lists/templates/people-qa.txt",
    "word_lists/pack/templates.json",
)
STATEMENTS = "word_lists/statements.csv"
STATEMENT_LINES = """\
template_id,template_text,param_1,constraints,label
trust,"#1 can be trusted.",who,,Yes
doubt,#1 should be doubted.,who,,No
"""
Told = Callable[[], str]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """In a project without faults with a dataset of each kind of file: what `validate` says."""
    base.write(tmp_path)
    config = base.config()
    config["datasets"]["stated"] = {
        "family": "statement",
        "title": "Stated",
        "templates": "statements.csv",
        "domains": "domains",
        "task": "text-generation",
    }
    config["run"]["datasets"].append("stated")
    base.write_config(tmp_path, config)
    base.put(tmp_path / STATEMENTS, STATEMENT_LINES)
    base.put(tmp_path / "word_lists/domains/who.txt", "women,female\nmen,male\n")
    monkeypatch.chdir(tmp_path)

    def validate() -> str:
        result = CliRunner().invoke(app, ["validate", "config.yaml"])
        assert "Traceback" not in result.stderr
        assert (result.exit_code == 0) == (result.stderr == "")
        return result.stderr

    return validate


def test_the_project_has_no_faults(told: Told) -> None:
    assert told() == ""


# What is read all the same


def read_with_one_line(told: Told, caplog: pytest.LogCaptureFixture) -> str:
    """That files are read, a second time without a word; returns what is said the first time."""
    for _ in range(2):
        assert told() == ""
    (line,) = caplog.messages
    return line


@pytest.mark.parametrize(("sign", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_a_table_with_semicolons_or_tabs_is_read(
    told: Told, caplog: pytest.LogCaptureFixture, sign: str, name: str
) -> None:
    Path(STATEMENTS).write_text(STATEMENT_LINES.replace(",", sign))
    assert read_with_one_line(told, caplog) == (
        f"warning: {STATEMENTS}: {name} separate its columns; it was read as such a table"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_with_a_mark_is_read(
    told: Told, caplog: pytest.LogCaptureFixture, encoding: str
) -> None:
    mark = "\ufeff" if encoding.endswith("be") else ""
    text = mark + base.LISTS["templates/people-qa.txt"]
    Path(TEMPLATES).write_bytes(text.encode(encoding))
    assert read_with_one_line(told, caplog) == (
        f"warning: {TEMPLATES}: is in UTF-16 and was read as such; UTF-8 is expected"
    )


def test_comments_are_no_fillings(told: Told) -> None:
    fillings = Path("word_lists/pack/fillings/food.txt")
    fillings.write_text("# my food\ncake\n")
    assert told() == ""
    fillings.write_text("# my food\n")
    assert "no fillings for <food>: its files are empty; expected one filling per line" in told()


# What is refused

TEXT_OF_GROUPS = "x;Ann\ny;Bea\n"
AS_UTF_8 = "expected UTF-8 text: save the file as UTF-8 (spreadsheets call it `CSV UTF-8`)"
REFUSED = {
    "names in Windows-1252": (
        SUBJECTS,
        "[subj] x | Ann\n[subj] y | Zo\u00eb\n".encode("cp1252"),
        [
            "line 2: byte 14 is not UTF-8; in Windows-1252 (ANSI) it would be in the word 'Zo\u00eb'",
            AS_UTF_8,
        ],
    ),
    "UTF-16 without a mark": (
        TEMPLATES,
        base.LISTS["templates/people-qa.txt"].encode("utf-16-le"),
        ["is in UTF-16, without a byte order mark", AS_UTF_8],
    ),
    "names without a head": (
        SUBJECTS,
        "x | Ann\ny | Bea\n",
        ["line 1: begins with 'x' (the first of 2 such lines)", "`[subj] x | Ann`"],
    ),
    "names with semicolons": (SUBJECTS, TEXT_OF_GROUPS, ["`[subj] x | Ann`"]),
    "cases among templates of questions": (
        TEMPLATES,
        json.dumps(base.PACK["templates.json"], indent=1),
        ["looks like a file of `family: counterfactual`", "the family of 'people'"],
    ),
    "templates of questions among cases": (
        CASES,
        base.LISTS["templates/people-qa.txt"],
        ["looks like a file of `family: underspecified`", "the family of 'moods'"],
    ),
    # Mistakes that nobody has told of yet.
    "statements among cases": (CASES, STATEMENT_LINES, ["`family: statement`"]),
    "statements without the names of columns": (
        STATEMENTS,
        "Women can be trusted.\n",
        [
            "line 1: the names of the columns are not there, but 'Women can be trusted.'; expected "
            "templates: a CSV file with the columns template_id, template_text, param_1,"
        ],
    ),
    "a spreadsheet": (
        STATEMENTS,
        b"PK\x03\x04\x14\x00",
        ["is a spreadsheet, a text document or a zip archive; expected text in UTF-8: templates"],
    ),
    "classes behind a semicolon": (
        "word_lists/domains/who.txt",
        "women;female\nmen;male\n",
        [
            "line 1: 'women;female' has no class; expected a value and its class, with a comma between "
            "them, as in `women, female`"
        ],
    ),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_in_a_file_is_reported_with_its_cause(told: Told, mistake: str) -> None:
    file, content, says = REFUSED[mistake]
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    message = told()
    assert message.startswith("1 fault") or "semicolon" in mistake
    assert [words for words in (file, *says) if words not in message] == [], message


YAML = {
    "no space behind a colon": (
        ("results: results", "results:results"),
        "line 2: not YAML: no space behind the colon; expected `results: results`",
    ),
    "a colon in a title": (
        ("title: Small", "title: Mine: the best"),
        "line 1: not YAML: a colon and a space within a text without quotation marks; expected "
        '`title: "Mine: the best"`',
    ),
    "a variable in braces": (
        ("  device: cpu", "  x: {folder: ${HOME}/model, key: ${KEY}}"),
        "not YAML: `${...}` within braces and without quotation marks; expected "
        '`  x: {folder: "${HOME}/model", key: "${KEY}"}`',
    ),
    # Nobody has told of it yet.
    "a tab": (
        ("  device: cpu", "\tdevice: cpu"),
        "not YAML: a tab before the key; YAML takes spaces; expected `  device: cpu`",
    ),
}


@pytest.mark.parametrize("mistake", YAML)
def test_a_mistake_in_yaml_is_reported_with_the_right_line(told: Told, mistake: str) -> None:
    (right, wrong), message = YAML[mistake]
    config = Path("config.yaml")
    text = config.read_text()
    assert right in text
    config.write_text(text.replace(right, wrong, 1))
    assert message in told()
