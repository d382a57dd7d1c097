"""Models that have dumps of predictions in place of weights, through Snakemake."""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden import FOLDER, golden_file
from hub import serve
from polars.testing import assert_frame_equal
from project import Project
from shared import made_once
from typer.testing import CliRunner

from biasgrid.base.addresses import address_digest
from biasgrid.cli.app import app
from biasgrid.tables.files import read_provenance, read_table, read_tables
from biasgrid.tables.measures import MEASURES, SUMMARY, rows_about_wholes

DATASETS = ["gender", "religion"]
COPIES = {"masked": "masked-copy", "answering": "answering-copy"}


def export(project: Project, model: str, dataset: str, out: str) -> bytes:
    """Writes the output.json of a cell into the project's folder as a user does; returns it."""
    arguments = ["config/small.yaml", "--dataset", dataset, "--model", model, "--out", out]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.folder)
        result = CliRunner().invoke(app, ["export", "unqover", *arguments])
    assert result.exit_code == 0, result.stderr
    return (project.folder / out).read_bytes()


def with_dumps(model: dict[str, Any], dumps: dict[str, dict[str, str]]) -> dict[str, Any]:
    """A model of the config with dumps in place of its weights."""
    kept = {key: value for key, value in model.items() if key != "folder"}
    return kept | {"label": "copy", "predictions": dumps}


def cells_planned(project: Project) -> dict[str, int]:
    """How many jobs of single cells Snakemake would run now."""
    aggregates = {"compare", "plot", "summary", "report", "manifest"}
    return {rule: count for rule, count in project.planned().items() if rule not in aggregates}


def dumps_only(config: dict[str, Any], **dumps: dict[str, str]) -> dict[str, Any]:
    """The small grid with one dataset and, in place of its models, dumps of theirs; without word
    lists.
    """
    models = {
        name: with_dumps(config["models"][name], {"gender": dump}) for name, dump in dumps.items()
    }
    run = {"models": list(models), "datasets": ["gender"]}
    return config | {"models": models, "run": run, "word_lists": "nowhere"}


@pytest.fixture(scope="module")
def mixed(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The finished grid beside copies of its models that have its exported cells as dumps, run to
    the end.
    """
    return Project(made_once(tmp_path_factory, "mixed", partial(make_mixed, finished)))


def make_mixed(finished: Project, folder: Path) -> None:
    project = finished.clone(folder)
    config = project.read_config()
    for model, copy in COPIES.items():
        for dataset in DATASETS:
            export(project, model, dataset, f"dumps/{model}-{dataset}.json")
        dumps = {
            dataset: {"file": f"dumps/{model}-{dataset}.json", "scoring": "exact"}
            for dataset in DATASETS
        }
        config["models"][copy] = with_dumps(config["models"][model], dumps)
    # The only difference: a dump does not tell its scoring, and counts as UnQover's.
    del config["models"]["answering-copy"]["predictions"]["gender"]["scoring"]
    config["run"]["models"] += COPIES.values()
    project.write_config(config)
    assert cells_planned(project) == {"import_predictions": 4, "measure": 4, "statistics": 4}
    project.run()


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize(("model", "copy"), COPIES.items())
def test_a_dump_is_measured_as_the_cell_that_it_was_written_of(
    mixed: Project, model: str, copy: str, dataset: str
):
    folder = mixed.folder / "results/measures" / dataset
    original, imported = (
        read_table(folder / f"{name}.parquet", MEASURES).drop("model") for name in (model, copy)
    )
    # What a dump's model could read is not known.
    assert imported.filter(measure="unknown_tokens").is_empty()
    assert_frame_equal(
        imported, original.filter(pl.col("measure") != "unknown_tokens"), abs_tol=1e-9, rel_tol=0
    )


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize(("model", "copy"), COPIES.items())
def test_an_imported_cell_is_exported_as_its_dump_was(
    mixed: Project, model: str, copy: str, dataset: str
):
    dump = (mixed.folder / f"dumps/{model}-{dataset}.json").read_bytes()
    assert export(mixed, copy, dataset, f"out/{copy}-{dataset}.json") == dump


def test_the_summary_says_how_dumps_were_scored(mixed: Project):
    summary = read_table(mixed.folder / "results/summary.parquet", SUMMARY)
    cells = summary.select("model", "dataset", "scoring").unique(maintain_order=True)
    assert cells.height == 8
    assert cells.filter(scoring="unqover").select("model", "dataset").rows() == [
        ("answering-copy", "gender")
    ]


def test_report_and_provenance_name_the_dump(mixed: Project):
    digest = sha256((mixed.folder / "dumps/answering-gender.json").read_bytes()).hexdigest()
    page = (mixed.folder / "results/report/index.html").read_text()
    assert (
        "dumps/answering-gender.json (scored as unqover), dumps/answering-religion.json "
        "(scored as exact)"
    ) in page
    assert f"sha256 {digest[:12]}" in page
    assert "dump of answering-copy" in page
    facts = read_provenance(mixed.folder / "results/measures/gender/answering-copy.parquet")
    dump = {"file": "dumps/answering-gender.json", "url": None, "sha256": digest}
    assert facts["predictions"]["dump"] == dump


def test_a_changed_dump_runs_only_its_cell_again(mixed: Project, tmp_path: Path):
    project = mixed.clone(tmp_path / "clone")
    assert project.planned() == {}
    dump = project.folder / "dumps/masked-gender.json"
    dump.write_text(dump.read_text().replace('"start": 0.0', '"start": 0.00'))
    assert cells_planned(project) == {"import_predictions": 1, "measure": 1, "statistics": 1}


def test_unqovers_own_dumps_are_measured_without_word_lists(
    small_config: dict[str, Any], tmp_path: Path
):
    names = {
        "masked": "gender_lm_bert.tiny-bert-base-uncased",
        "answering": "gender_qa.tiny-roberta-base",
    }
    dumps = {model: golden_file(f"output/{name}.output.json") for model, name in names.items()}
    config = dumps_only(
        small_config, **{model: {"file": str(dump)} for model, dump in dumps.items()}
    )
    project = Project.create(tmp_path / "project", config)
    project.run("results/summary.csv")
    summary = read_table(project.folder / "results/summary.parquet", SUMMARY)
    keys = ["model", "scoring"]
    # Of numbers whose noise is not known the summary shows none.
    tables = read_tables(sorted(project.folder.glob("results/measures/*/*.parquet")), MEASURES)
    wholes = (
        rows_about_wholes(tables)
        .filter(pl.col("measure").is_in(["mu", "eta"]))
        .select("model", "measure", "value")
    )
    scorings = summary.select(keys).unique(maintain_order=True)
    found = scorings.join(wholes, on="model").pivot("measure", index=keys, values="value")
    assert len(found) == len(names)
    for cell in found.iter_rows(named=True):
        log = (FOLDER / "log" / f"{names[cell['model']]}.subj.log.txt").read_text()
        mu, eta = (float(value) for value in re.findall("model (?:mu|eta) (.*)", log))
        assert (cell["mu"], cell["eta"]) == (
            pytest.approx(mu, abs=1e-9),
            pytest.approx(eta, abs=1e-9),
        )
        assert cell["scoring"] == "unqover"
        assert (
            export(project, cell["model"], "gender", "out.json")
            == dumps[cell["model"]].read_bytes()
        )


def test_a_dump_is_downloaded_if_its_digest_is_right(
    finished: Project, small_config: dict[str, Any], tmp_path: Path
):
    content = export(finished.clone(tmp_path / "clone"), "answering", "gender", "dump.json")
    digest = sha256(content).hexdigest()
    predictions = "results/imported/gender/answering/predictions.parquet"
    with serve(content) as server:
        dump = {"url": f"{server.address}?token=s3cret", "sha256": "0" * 64}
        project = Project.create(tmp_path / "project", dumps_only(small_config, answering=dump))
        output = project.run(predictions, succeeds=False)
        assert (
            f"{server.address}: sha256 is {digest} (the download was removed); expected {'0' * 64}"
            in output
        )
        assert "Traceback" not in output
        dump["sha256"] = digest
        project.write_config(dumps_only(small_config, answering=dump))
        project.run(predictions)
    shown = {
        "file": None,
        "url": server.address,
        "sha256": digest,
        "address": address_digest(dump["url"]),
    }
    assert read_provenance(project.folder / predictions)["dump"] == shown
    assert project.planned(predictions) == {}
    written = [
        path
        for name in ("results", ".snakemake")
        for path in (project.folder / name).rglob("*")
        if path.is_file()
    ]
    assert len(written) > 5
    assert [path for path in written if b"s3cret" in path.read_bytes()] == []


def test_a_malformed_dump_is_named_with_its_line(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(
        tmp_path / "project", dumps_only(small_config, answering={"file": "dump.json"})
    )
    (project.folder / "dump.json").write_text('{\n    "a|b": {"context": "x"}\n}')
    output = project.run("results/imported/gender/answering/predictions.parquet", succeeds=False)
    assert (
        "dump.json, line 2, entry 'a|b': the entry lacks q0, q1; expected the keys context, q0, q1"
        in output
    )
    assert "Traceback" not in output


def test_a_dump_of_another_dataset_is_refused(
    finished: Project, small_config: dict[str, Any], tmp_path: Path
):
    project = finished.clone(tmp_path / "clone")
    export(project, "answering", "religion", "dump.json")
    config = dumps_only(small_config, answering={"file": "dump.json"})
    project.write_config(config | {"word_lists": "word_lists"})
    output = project.run("results/imported/gender/answering/predictions.parquet", succeeds=False)
    lists = "word_lists/subjects/female.txt or word_lists/subjects/male.txt"
    assert re.search(
        rf"dump.json: none of its subjects \(.*\) is in {lists}; expected a dump of the dataset",
        output,
    )
    assert "Traceback" not in output


def test_a_missing_dump_is_named_before_any_work(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(
        tmp_path / "project", dumps_only(small_config, answering={"file": "nothing.json"})
    )
    output = project.run("--dry-run", succeeds=False)
    problem = "there is no file 'nothing.json' (looked for in config and this folder)"
    assert f"models.answering.predictions.gender.file: {problem}; expected an output.json" in output
    assert "Traceback" not in output
