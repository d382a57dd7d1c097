"""What a model is that a person names, which datasets are for it, and how a trial cuts these."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from model_server import serving
from project import ROOT
from typer.testing import CliRunner

from biasgrid.base.faults import UserError
from biasgrid.cli.app import app
from biasgrid.cli.quickstart.config import make_config
from biasgrid.cli.quickstart.downsample import (
    CONTROL_ATTRIBUTES,
    SIZES,
    TrialSize,
    downsample_config,
    plan_dataset,
    trial_size,
    trial_text,
)
from biasgrid.cli.quickstart.model import DescribedModel, describe_model, leave_out_pronouns
from biasgrid.config import load_word_lists, parse_config
from biasgrid.runs.counts import sample_notes

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
    controls = {f"{dataset}-placebo" for dataset in fitting}
    assert {dataset for _, dataset in config.cells()} == set(fitting) | controls


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
    assert make_config(ROOT, "results", [named], [])[1] == ["sentiment-2"]
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
        UserError,
        match=(
            r"architectures \['BertModel'\] in config.json: BertModel has no head .*; expected a "
            r"class that ends in"
        ),
    ):
        tried(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(
        UserError, match="no/such-model: there is no 'no' in this folder, and the hub says: "
    ):
        describe_model("no/such-model", {}, None, None)
    with pytest.raises(
        UserError, match="sentiment-2 is not for models of fill-mask; expected one of eth"
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


def test_smaller_trials_ask_less_of_all_templates(folders: Path) -> None:
    content, _ = make_config(ROOT, "results", [tried(folders / "qa")], ["gender"])
    datasets = [downsample_config(content, rows)["datasets"] for rows in (10**9, 20_000, 6_000)]
    sections = [each["gender"] for each in datasets]
    assert "limit" not in sections[0]
    assert sections[0]["sample"] == "all"
    sizes = [section["limit"]["subjects"] for section in sections[1:]]
    assert sizes[0] > sizes[1]
    assert set(sizes) <= set(SIZES)
    assert all("templates" not in section["limit"] for section in sections[1:])
    assert all(
        0.1 <= section["sample"]["share"] < 1
        for section in sections[1:]
        if section["sample"] != "all"
    )
    # The control is asked with it, and has a fifth of the rows of both.
    controls = [each["gender-placebo"] for each in datasets]
    assert controls[0]["sample"] == "all"
    assert all(
        each["limit"]["subjects"] < size for each, size in zip(controls[1:], sizes, strict=True)
    )
    assert all(each["limit"]["attributes"] >= CONTROL_ATTRIBUTES for each in controls[1:])
    rows = [
        sum(cell.instances.value or 0 for cell in plan_dataset(content, name, datasets[1][name]))
        for name in datasets[1]
    ]
    assert rows[1] < rows[0]


@pytest.mark.parametrize(
    ("processors", "device", "shards"),
    [(1, "auto", 1), (2, "auto", 1), (9, "auto", 2), (9, "cpu", 9), (None, "cpu", 1)],
)
def test_a_trial_has_as_many_shards_as_jobs_that_run_at_once(
    folders: Path, monkeypatch: pytest.MonkeyPatch, processors: int | None, device: str, shards: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    content, _ = make_config(ROOT, "results", [tried(folders / "qa")], ["gender"])
    sections = downsample_config({**content, "inference": {"device": device}}, 6_000)["datasets"]
    assert {section["shards"] for section in sections.values()} == {shards}


def test_the_size_of_the_largest_model_decides_what_a_trial_asks(
    folders: Path, tmp_path: Path
) -> None:
    small = tried(folders / "qa")
    layers = {"hidden_size": 768, "num_hidden_layers": 12, "intermediate_size": 3072}
    shutil.copytree(
        folders / "qa", tmp_path / "base", ignore=shutil.ignore_patterns("*.safetensors")
    )
    config = json.loads((folders / "qa/config.json").read_text()) | layers
    (tmp_path / "base/config.json").write_text(json.dumps(config))
    (tmp_path / "base/pytorch_model.bin").touch()
    large = replace(small, folder=tmp_path / "base")
    served = replace(small, folder=None)
    sizes = [
        trial_size(models, None).rows for models in ([small], [large], [small, large], [served])
    ]
    assert sizes[0] > sizes[1] == sizes[2] > sizes[3]


@pytest.mark.parametrize(
    ("minutes", "rows", "note"),
    [
        (None, 8000, ""),
        (
            2,
            8000,
            (
                "--minutes 2 changes nothing: the size of the model already limits the trial to "
                "about 8,000 rows."
            ),
        ),
        (
            60,
            8000,
            (
                "--minutes 60 changes nothing: the size of the model already limits the trial to "
                "about 8,000 rows."
            ),
        ),
        (1, 1600, "--minutes 1 lowers the number of rows from about 8,000 to 1,600."),
        (0.1, 533, "--minutes 0.1 lowers the number of rows from about 8,000 to 533."),
    ],
)
def test_minutes_only_lower_what_a_trial_asks(minutes: float | None, rows: int, note: str) -> None:
    size = TrialSize(8000, minutes)
    assert (size.rows, size.note) == (rows, note)


@pytest.mark.parametrize("model", ["qa", "lm", "writer", "classifier"])
def test_a_trial_says_before_it_runs_how_little_it_asks(model: str, folders: Path) -> None:
    content, fitting = make_config(ROOT, "results", [tried(folders / model)], [])
    content, _ = make_config(ROOT, "results", [tried(folders / model)], fitting[:1])
    config = parse_config(downsample_config(content, 600), "try.yaml")
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
    content, _ = make_config(ROOT, "results", [tried(folders / "classifier")], ["sentiment-2"])
    config = parse_config(downsample_config(content, 10), "try.yaml")
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
