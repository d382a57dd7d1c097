"""What a model is that a person names, which datasets are for it, and how a trial cuts these."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from model_server import serving
from project import ROOT
from typer.testing import CliRunner

from biasgrid.base.faults import UserError
from biasgrid.base.references import load, stage_module
from biasgrid.cli.app import app
from biasgrid.cli.quickstart.config import make_config
from biasgrid.cli.quickstart.model import DescribedModel, describe_model, leave_out_pronouns
from biasgrid.cli.quickstart.trial import (
    Pace,
    TrialTime,
    dataset_sizes,
    jobs_at_once,
    share_out,
    trial_config,
    trial_text,
)
from biasgrid.config import load_word_lists, parse_config
from biasgrid.runs.counts import sample_notes
from biasgrid.runs.plan import MachineRate, make_plan

pytestmark = pytest.mark.family("what a model is offered are datasets of all five")

UNDERSPECIFIED = ["gender", "nationality", "ethnicity", "religion"]
RUNNER = CliRunner()


def tried(folder: Path) -> DescribedModel:
    return describe_model(str(folder), {}, None, None)


@pytest.mark.parametrize(
    ("name", "task", "datasets"),
    [
        ("lm", "fill-mask", [*UNDERSPECIFIED, "masked"]),
        ("qa", "question-answering", [*UNDERSPECIFIED, "question-answering"]),
        (
            "writer",
            "text-generation",
            [*UNDERSPECIFIED, "gender-statements", "race-statements", "religion-statements"],
        ),
    ],
)
def test_a_folder_says_what_it_is_for(
    folders: Path, name: str, task: str, datasets: list[str]
) -> None:
    one = tried(folders / name)
    assert (one.task, one.name, one.section["label"]) == (task, name, name)
    content, fitting = make_config(ROOT, "results", [one], [])
    assert fitting[: len(datasets)] == datasets
    whole = {key: section | {"sample": "all"} for key, section in content["datasets"].items()}
    config = parse_config(content | {"datasets": whole}, "here")
    # Without names, the standard configs alone.
    standard = fitting[: fitting.index("age")]
    controls = {f"{dataset}-placebo" for dataset in standard}
    assert {dataset for _, dataset in config.cells()} == set(standard) | controls


def test_shipped_datasets_of_other_families_and_languages_can_be_named(folders: Path) -> None:
    names = ["age", "hiring-gender", "gender-de", "hiring-gender-es"]
    content, fitting = make_config(ROOT, "results", [tried(folders / "writer")], names)
    assert set(names) < set(fitting)
    assert set(content["datasets"]) == {*names, "gender-de-placebo"}
    assert {size for size in planned(content).values() if size} == set(planned(content).values())
    masked, _ = make_config(ROOT, "results", [tried(folders / "lm")], ["gender-es"])
    assert list(masked["datasets"]["gender-es"]["variants"]) == ["lm-lm"]


def test_the_working_folder_is_called_by_its_name(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders / "lm")
    one = describe_model(".", {}, None, None)
    assert (one.name, one.section["label"]) == ("lm", "lm")


def classifier(folder: Path, *names: str) -> str:
    """A folder whose config names the classes of a classifier."""
    labels = {str(number): name for number, name in enumerate(names)}
    config = {"architectures": ["BertForSequenceClassification"], "id2label": labels}
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def test_classes_of_a_classifier_are_taken_by_their_names(tmp_path: Path) -> None:
    named = describe_model(classifier(tmp_path, "NEGATIVE", "POSITIVE"), {}, None, None)
    assert named.section["labels"] == {"negative": "NEGATIVE", "positive": "POSITIVE"}
    fitting = make_config(ROOT, "results", [named], [])[1]
    assert fitting[0] == "sentiment-2"
    assert "entailment" not in fitting
    with pytest.raises(
        UserError, match=r"its classes are LABEL_0, LABEL_1; expected --labels with their meaning"
    ):
        describe_model(classifier(tmp_path, "LABEL_0", "LABEL_1"), {}, None, None)
    told = describe_model(
        classifier(tmp_path, "LABEL_0", "LABEL_1"),
        {"negative": "LABEL_0", "positive": "LABEL_1"},
        None,
        None,
    )
    assert told.section["labels"] == {"negative": "LABEL_0", "positive": "LABEL_1"}


def test_a_server_is_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_MINE", "sk-of-mine")
    with serving(key="sk-of-mine", listed_models=["org/Large-2"]) as server:
        one = describe_model(server.url, {}, "org/Large-2", "KEY_OF_MINE")
        # The only model of a server needs no name.
        assert describe_model(server.url, {}, None, "KEY_OF_MINE") == one
        assert (server.listings, server.bodies) == (2, [])
        server.listed_models = ["small", "large"]
        with pytest.raises(
            UserError, match=r"which model\? The server lists: small, large; expected --name"
        ):
            describe_model(server.url, {}, None, "KEY_OF_MINE")
        assert one.name == "large-2"
        assert one.section["endpoint"] == {
            "url": server.url,
            "model": "org/Large-2",
            "key": "${KEY_OF_MINE}",
        }


@pytest.mark.parametrize("command", ["try", "ask"])
def test_a_server_that_is_not_there_is_said_at_once(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ([], ["--name", "x"]):
        refused = RUNNER.invoke(app, [command, "http://127.0.0.1:9/v1", *name])
        assert refused.exit_code == 2
        expected = (
            "There is no answer from http://127.0.0.1:9/v1 (connection refused). Is "
            "the server running?\n"
        )
        assert refused.output == expected
    assert not list(tmp_path.iterdir())


def test_what_is_no_folder_of_a_model_is_named(folders: Path) -> None:
    typed = {
        folders.parent
        / folders.name
        / "writr": r"there is no 'writr' in the folder .* \(did you mean 'writer'\?\)",
        folders / "none" / "lm": "there is no 'none' in the folder",
        folders
        / "lm"
        / "config.json": f"is a file; expected the folder of the model: {folders / 'lm'}",
        folders: "is a folder of folders; expected the folder of one model: classifier, lm, qa, writer",
        Path("../no-such-model"): r"there is no 'no-such-model' in the folder \.\.",
    }
    for path, message in typed.items():
        with pytest.raises(UserError, match=message) as refused:
            tried(path)
        assert "the hub" not in str(refused.value)


@pytest.mark.parametrize("command", ["try", "ask"])
def test_a_folder_without_a_config_says_so(command: str, tmp_path: Path) -> None:
    refused = RUNNER.invoke(app, [command, str(tmp_path)])
    assert refused.exit_code == 2
    expected = "a folder with a checkpoint: config.json, weights and tokenizer"
    assert refused.output == f"{tmp_path} contains no config.json; expected {expected}\n"


def test_a_folder_with_a_file_of_llama_cpp_alone_says_how_to_ask_it(tmp_path: Path) -> None:
    (tmp_path / "model-q4.gguf").write_bytes(b"GGUF")
    with pytest.raises(UserError) as refused:
        tried(tmp_path)
    message = str(refused.value)
    assert message.startswith(
        f"{tmp_path} has weights of llama.cpp only (model-q4.gguf); expected safetensors; or "
    )
    for remedy in (
        "llama-server -m",
        "`endpoint`",
        "from_pretrained(folder, gguf_file=..., ",
        "save_pretrained",
    ):
        assert remedy in message
    assert "architectures" not in message


def test_pronouns_that_a_model_cannot_be_asked_for_are_left_out_with_a_note(folders: Path) -> None:
    masked, answering = tried(folders / "lm"), tried(folders / "qa")
    for pronouns, are_kept in (
        ({"female": "Mary", "male": "Linda"}, True),
        ({"female": "Mary", "male": "xe"}, False),
    ):
        datasets = {"gender": {"pronouns": pronouns}, "religion": {}}
        assert list(leave_out_pronouns(datasets, [answering])) == []
        notes = list(leave_out_pronouns(datasets, [answering, masked]))
        assert notes == (
            []
            if are_kept
            else ["gender: pronouns are left out, because xe is not a single token of the model"]
        )
        assert ("pronouns" in datasets["gender"]) == are_kept


def test_what_cannot_be_asked_is_refused(
    tmp_path: Path, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["BertModel"]}')
    with pytest.raises(
        UserError, match=r": BertModel has no head for a task: choose a checkpoint that was trained"
    ):
        tried(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        UserError, match="no/such-model: there is no 'no' in this folder, and the hub says: "
    ):
        describe_model("no/such-model", {}, None, None)
    with pytest.raises(
        UserError, match="sentiment-2 is not for models of fill-mask; expected one of age"
    ):
        make_config(ROOT, "results", [tried(folders / "lm")], ["sentiment-2"])
    with pytest.raises(UserError, match=r"unknown name 'gendr' \(did you mean 'gender'\?\)"):
        make_config(ROOT, "results", [tried(folders / "lm")], ["gendr"])


def test_statements_of_a_new_config_ask_for_agreement(folders: Path) -> None:
    names = [f"{about}-statements" for about in ("gender", "race", "religion", "disability")]
    content, _ = make_config(ROOT, "results", [tried(folders / "writer")], names)
    packs = load_word_lists(parse_config(content, "here"))
    assert {name for name, _ in packs} == {*names, *(f"{name}-placebo" for name in names)}
    for pack in packs.values():
        answers = [pack.requested_answers(prompt) for prompt in pack.prompts]
        assert answers == [("Agree", "Disagree")] * 3


def trial_of(folders: Path, model: str, on: str, rate: float = 100, around: float = 5) -> TrialTime:
    content, _ = make_config(ROOT, "results", [tried(folders / model)], [on])
    pace = Pace(rate, around, "here")
    return TrialTime(content, dataset_sizes(content), {f"{on}/{model}": pace}, 1, 20)


def planned(content: dict[str, Any]) -> dict[str, float]:
    config = parse_config(content, "try.yaml")
    cells = make_plan(config, load_word_lists(config), MachineRate()).cells
    return {cell.dataset: cell.instances.value or 0 for cell in cells}


@pytest.mark.parametrize(
    ("model", "on"),
    [("qa", "gender"), ("writer", "religion"), ("writer", "gender-statements"), ("lm", "masked")],
)
def test_a_trial_fits_the_time_and_gives_its_control_a_third(
    folders: Path, model: str, on: str
) -> None:
    trial = trial_of(folders, model, on)
    rows = trial.rows_within(180)
    assert trial.trial_seconds(rows) == pytest.approx(180, abs=1) or all(
        rows[name] == sizes.whole for name, sizes in trial.sizes.items()
    )
    asked = planned(trial_config(trial, rows))
    for name, count in rows.items():
        assert trial.sizes[name].block <= asked[name] <= 1.05 * count + trial.sizes[name].block
    control = f"{on}-placebo"
    if rows[control] < trial.sizes[control].whole and rows[on] < trial.sizes[on].whole:
        assert rows[control] == pytest.approx(rows[on] / 2)


def test_a_longer_trial_asks_what_a_shorter_one_has_asked(folders: Path) -> None:
    trial = trial_of(folders, "qa", "gender")
    asked = []
    for seconds in (90, 180):
        content = trial_config(trial, trial.rows_within(seconds))
        config = parse_config(content, "try.yaml")
        lists = load_word_lists(config)["gender", "qa"]
        expand = load(stage_module(config.family_reference("gender"), "expand")).expand
        asked.append(set(pl.concat(expand(lists).parts)["instance"]))
    shorter, longer = asked
    assert shorter < longer
    assert trial.rows_within(90) == trial.rows_within(90)


def test_a_time_that_is_too_short_says_what_it_takes(folders: Path) -> None:
    trial = trial_of(folders, "writer", "gender", rate=0.5)
    with pytest.raises(
        UserError,
        match=(
            r"3 minutes are too short for gender: 0.5 rows/s on this machine, and the smallest "
            r"trial with a result asks 384 rows; expected --minutes (\d+), or --on with a smaller "
        ),
    ) as refused:
        trial.rows_within(180)
    (minutes,) = re.findall(r"--minutes (\d+)", str(refused.value))
    assert trial.rows_within(60 * int(minutes))


@given(
    st.dictionaries(
        st.text("abc", min_size=1),
        st.tuples(st.floats(0.1, 9), st.floats(0, 9), st.floats(0, 9)),
        min_size=1,
    ),
    st.floats(0, 100),
)
def test_seconds_are_shared_out_by_weights_within_bounds(
    names: dict[str, tuple[float, float, float]], more: float
) -> None:
    weights = {name: weight for name, (weight, _, _) in names.items()}
    least = {name: seconds for name, (_, seconds, _) in names.items()}
    most = {name: seconds + beyond for name, (_, seconds, beyond) in names.items()}
    seconds = sum(least.values()) + more
    parts = share_out(seconds, weights, least, most)
    assert all(least[name] <= part <= most[name] for name, part in parts.items())
    assert sum(parts.values()) == pytest.approx(min(seconds, sum(most.values())))


@pytest.mark.parametrize(("processors", "jobs"), [(1, 1), (2, 1), (9, 2), (None, 1)])
def test_a_trial_has_as_many_shards_as_jobs_that_run_at_once(
    folders: Path, monkeypatch: pytest.MonkeyPatch, processors: int | None, jobs: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    answering = tried(folders / "qa")
    assert jobs_at_once([answering]) == jobs
    assert jobs_at_once([answering, replace(answering, folder=None)]) == 1
    trial = replace(trial_of(folders, "qa", "gender"), jobs=jobs)
    sections = trial_config(trial, trial.rows_within(180))["datasets"]
    assert {section["shards"] for section in sections.values()} == {jobs}


@pytest.mark.parametrize("model", ["qa", "lm", "writer", "classifier"])
def test_a_trial_says_before_it_runs_how_little_it_asks(model: str, folders: Path) -> None:
    _, fitting = make_config(ROOT, "results", [tried(folders / model)], [])
    time_of_trial = trial_of(folders, model, fitting[0])
    config = parse_config(trial_config(time_of_trial, time_of_trial.rows_within(120)), "try.yaml")
    assert config.trial
    text = trial_text(config, load_word_lists(config))
    assert re.fullmatch(
        r"Quick trial: ([\d,.]+( million)? of [\d,.]+( million)? \w+(, )?)+", text
    ), text


def test_words_that_a_tokenizer_splits_are_reported_before_a_workflow_begins(
    tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path
) -> None:
    folder = tiny_checkpoint("bert", "fill-mask")
    told = RUNNER.invoke(app, ["try", str(folder), "--on", "gender", "--folder", str(tmp_path)])
    assert told.exit_code == 2
    assert (
        "nothing to ask, because too few subjects are a single token of the tokenizer"
        in told.output
    )
    assert (
        "pronouns are left out, because she, he are not single tokens of the model" in told.output
    )
    assert "Quick trial: 0" not in told.output
    assert not (tmp_path / "results").exists()


def test_a_control_alone_is_asked_where_it_is_named(folders: Path) -> None:
    content, fitting = make_config(ROOT, "results", [tried(folders / "qa")], ["gender-placebo"])
    assert content["run"]["datasets"] == ["gender-placebo"]
    assert "gender-placebo" not in fitting


def test_however_small_trials_are_classifiers_are_asked_all_classes_and_clusters(
    folders: Path,
) -> None:
    trial = trial_of(folders, "classifier", "sentiment-2")
    config = parse_config(trial_config(trial, dict.fromkeys(trial.sizes, 10)), "try.yaml")
    # Its control is asked as widely.
    of_pack, of_control = sample_notes(config, load_word_lists(config))
    for told in (of_pack, of_control):
        assert told.endswith(
            "sample of 26 cases: 26 of 26 clusters of templates, 2 of 2 right classes"
        )


def test_init_writes_a_config_without_faults(
    folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "mine.yaml"
    line = [
        "init",
        "--models",
        f"{folders / 'lm'}, {folders / 'qa'}, {folders / 'writer'},",
        "--on",
        "gender, religion",
        "--config",
        str(config),
    ]
    assert RUNNER.invoke(app, line).exit_code == 0
    assert list(yaml.safe_load(config.read_text())["models"]) == ["lm", "qa", "writer"]
    assert "CONTENT WARNING" in config.read_text()
    # The workflow is not in this folder.
    assert f"# Run: biasgrid run {config}\n" in config.read_text()
    told = RUNNER.invoke(app, ["validate", str(config)])
    assert told.exit_code == 0, told.output
    # Three models, two datasets and their controls.
    assert "12 cells" in told.output
    again = RUNNER.invoke(app, line)
    assert again.exit_code == 2
    assert "mine.yaml already exists" in again.output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (["init", "--models", "{lm},{lm}"], "same last part of the name"),
        (
            ["init", "--models", ","],
            "--models names no model; expected one or more models, separated by commas",
        ),
        (
            ["try", "{lm}", "--labels", "negative"],
            "expected pairs separated by commas, such as negative=LABEL_0,positive=LABEL_1",
        ),
        (["try", "{lm}", "--on", "nothing"], "unknown name 'nothing'"),
    ],
)
def test_bad_arguments_leave_nothing_behind(
    line: list[str], message: str, folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = RUNNER.invoke(app, [part.format(lm=folders / "lm") for part in line])
    assert told.exit_code == 2
    assert message in told.output
    assert not list(tmp_path.iterdir())
