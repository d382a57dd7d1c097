"""A dataset's own words of its language: Yes and No, refusals and articles, in a file among the
word lists.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml
from small_probes import HIRING
from small_statements import files_of
from small_tables import whole
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.base.languages import Language, cell_language, language_file_faults, language_words
from biasgrid.cli.app import app
from biasgrid.config import load_config, load_word_lists
from biasgrid.families.probe.ask import expand as expand_probe
from biasgrid.families.statement.ask import expand as expand_statements
from biasgrid.families.statement.observe import observe
from biasgrid.readers.refusals import refusal_column

pytestmark = pytest.mark.family("statements and probes ask for words of a language")
RUNNER = CliRunner()
PORTUGUESE = """\
name: Portuguese
"yes": [Sim]
"no": [Não]
refusals:
  - 'não posso (?:responder|ajudar)'
articles: [o, a, os, as]
"""


def write_config(folder: Path, words: str = PORTUGUESE, **keys: str) -> Path:
    """Writes a config of statements and a probe in Portuguese, with words of their own."""
    lists = folder / "lists"
    files_of(lists)
    (lists / "hiring.yaml").write_text(HIRING)
    (lists / "pt.yaml").write_text(words)
    own = {"language": "pt", "language_file": "pt.yaml"} | keys
    statements = {
        "family": "statement",
        "title": "Statements",
        "templates": "templates.csv",
        "domains": "domains",
    }
    config = {
        "results": str(folder / "results"),
        "word_lists": str(lists),
        "models": {
            "one": {"task": "text-generation", "kind": "LLM", "label": "one", "random": {"seed": 1}}
        },
        "datasets": {
            "statements": statements | own | {"prompt": "{statement} Sim ou Não?", "sample": "all"},
            "hiring": {"family": "probe", "title": "Hiring", "probe": "hiring.yaml"} | own,
        },
        "run": {"models": ["one"], "datasets": ["statements", "hiring"]},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def test_models_are_asked_for_the_words_of_the_file(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path), {})
    lists = load_word_lists(config)
    asked = {}
    for (dataset, _), pack in lists.items():
        expanded = expand_statements(pack) if dataset == "statements" else expand_probe(pack)
        candidates = whole(expanded).select(pl.col("candidate1", "candidate2").cast(pl.String))
        asked[dataset] = candidates.unique().rows()
    assert asked == {"statements": [("Sim", "Não")], "hiring": [("Sim", "Não")]}


def test_prompts_that_ask_for_agreement_need_its_words_in_the_file(tmp_path: Path) -> None:
    words = PORTUGUESE + "agree: [Concordo]\ndisagree: [Discordo]\n"
    for number, (content, answers) in enumerate(
        {PORTUGUESE: ("Sim", "Não"), words: ("Concordo", "Discordo")}.items()
    ):
        path = write_config(tmp_path / str(number), content)
        path.write_text(path.read_text().replace("Sim ou N\\xE3o?", "Concordo ou discordo?"))
        pack = load_word_lists(load_config(path, {}))["statements", "statements"]
        assert "discordo" in pack.prompts[0].text
        candidates = whole(expand_statements(pack)).select(
            pl.col("candidate1", "candidate2").cast(pl.String)
        )
        assert candidates.unique().rows() == [answers]


def test_answers_are_read_by_the_words_of_the_file_and_again_where_these_change(
    tmp_path: Path,
) -> None:
    path = write_config(tmp_path)
    config = load_config(path, {})
    instances = whole(expand_statements(load_word_lists(config)["statements", "statements"])).head(
        3
    )
    texts = ["Sim.", "Não, nunca.", "Não posso responder."]
    said = instances.select("instance", status=pl.lit("stop"), response=pl.Series(texts))
    options = config.question("one", "statements").measure_options
    assert observe(instances, said, options)["says_yes"].to_list()[:2] == [True, False]
    assert refusal_column(said["response"], cell_language(options)).to_list() == [
        False,
        False,
        True,
    ]
    (tmp_path / "lists/pt.yaml").write_text(PORTUGUESE.replace("[Sim]", "[Sim, Claro]"))
    changed = load_config(path, {}).question("one", "statements").measure_options
    assert changed != options
    assert cell_language(changed).yes == ("Sim", "Claro")


def test_without_the_file_the_message_names_it(tmp_path: Path) -> None:
    path = write_config(tmp_path)
    content = yaml.safe_load(path.read_text())
    for dataset in content["datasets"].values():
        del dataset["language_file"]
    path.write_text(yaml.safe_dump(content))
    told = RUNNER.invoke(app, ["validate", str(path)])
    assert told.exit_code == 2
    assert "'pt', but statements are answered with the English words Yes and No" in told.stderr
    assert "`language_file` with `yes` and `no`" in told.stderr


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "name: Portuguese",
            "nome: Portuguese",
            "line 1, nome: unknown key (did you mean 'name'?)",
        ),
        ('"yes": [Sim]', '"yes": Sim', "line 2, yes: 'Sim'; expected a list, such as [a, b]"),
        ('"no": [Não]\n', "", "line 2, yes: given without `no`; expected both, or neither"),
        ("[Não]", "[No]", "line 3, no[0]: false; expected text, in quotes"),
        ("[Não]", "[sim]", "line 3, no: 'sim' is also a word for yes"),
        (
            "articles:",
            "agree: [Concordo]\narticles:",
            "line 6, agree: given without `disagree`; expected both, or neither",
        ),
        (
            "articles:",
            "agree: [Concordo]\ndisagree: [concordo]\narticles:",
            (
                "line 7, disagree: 'concordo' is also a word for agree; expected different words "
                "for agree and disagree"
            ),
        ),
        ("[Não]", '[Não, ""]', "line 3, no[1]: empty; expected a word"),
        ("(?:responder|ajudar)", "(?:responder", "line 5, refusals[0]: "),
        ("'não posso (?:responder|ajudar)'", "''", "line 5, refusals[0]: empty; expected a phrase"),
        (
            "'não posso (?:responder|ajudar)'",
            "{says: 'não posso', example: Posso}",
            (
                "line 5, refusals[0]: does not read its example 'Posso'; expected an example that "
                "it reads"
            ),
        ),
        ("as]", "as", "line 7: not YAML"),
        ("articles:", "on: [Claro]\narticles:", "line 6, on: unknown key"),
        ("articles:", "0: [Nunca]\narticles:", "line 6, 0: unknown key"),
        ("articles:", "no: [Nunca]\narticles:", "line 6: the key 'no' is already in line 3"),
        ("articles:", "doubts: '(?<=se )eu'\narticles:", "line 6, doubts: '(?<=se )eu' is none"),
    ],
)
def test_faults_of_the_file_are_named_with_line_and_key(
    tmp_path: Path, old: str, new: str, fault: str
) -> None:
    told = RUNNER.invoke(
        app, ["validate", str(write_config(tmp_path, PORTUGUESE.replace(old, new)))]
    )
    assert told.exit_code == 2
    assert told.stderr.startswith("1 fault in the input:")
    assert f"{tmp_path}/lists/pt.yaml, " in told.stderr
    assert fault in told.stderr


@pytest.mark.parametrize(
    ("says", "example"),
    [
        (r"não\ posso", "Não  posso."),
        (r"não[ -]posso", "não-posso"),
        (r"não[ -]posso", "não\tposso"),
        (r"não[^ ]posso", "não-posso"),
        (r"[]]não \[ posso", "]não  [ posso"),
    ],
)
def test_a_space_of_a_pattern_matches_any_white_space(
    tmp_path: Path, says: str, example: str
) -> None:
    phrase = {"says": says, "example": example}
    words = yaml.safe_dump({"yes": ["Sim"], "no": ["Não"], "refusals": [phrase]})
    result = RUNNER.invoke(app, ["validate", str(write_config(tmp_path, words))])
    assert (result.exit_code, result.stderr) == (0, "")
    language = language_words(str(tmp_path / "lists/pt.yaml"))
    assert refusal_column(pl.Series([example]), language).to_list() == [True]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("pr.yaml", "there is no 'pr.yaml' in the folder"),
        ("pt.txt", "'pt.txt'; expected a YAML file in the folder of"),
    ],
)
def test_a_file_that_is_not_there_is_named(tmp_path: Path, name: str, problem: str) -> None:
    told = RUNNER.invoke(app, ["validate", str(write_config(tmp_path, language_file=name))])
    assert told.exit_code == 2
    assert "datasets.statements.language_file: " in told.stderr
    assert problem in told.stderr


def test_an_undefined_dataset_does_not_hide_the_faults_of_a_file(tmp_path: Path) -> None:
    config = write_config(tmp_path, PORTUGUESE.replace("name:", "nome:"))
    content = yaml.safe_load(config.read_text())
    content["run"]["datasets"].insert(0, "no_such_dataset")
    config.write_text(yaml.safe_dump(content))
    with pytest.raises(InputError) as refusal:
        load_config(config)
    message = str(refusal.value)
    assert "no_such_dataset" in message
    assert message.count("pt.yaml") == 1


def test_a_file_with_faults_has_no_words(tmp_path: Path) -> None:
    path = tmp_path / "pt.yaml"
    path.write_text("nome: x\n")
    assert language_words(str(path)) == Language()
    assert language_words(str(tmp_path / "none.yaml")) == Language()
    path.write_text(PORTUGUESE)
    assert list(language_file_faults(str(path))) == []
    assert language_words(str(path)).answers == ("Sim", "Não")
    path.write_text(PORTUGUESE.replace('"yes"', "yes").replace('"no"', "no"))
    assert language_words(str(path)).answers == ("Sim", "Não")
