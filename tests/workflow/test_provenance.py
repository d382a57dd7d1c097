"""Who made what: in every table, and gathered in the manifest."""

import json
from pathlib import Path

import pytest
from project import Project
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.tables.files import TableError, read_provenance, read_table, write_table
from biasgrid.tables.provenance import cell_provenance, digest
from biasgrid.tables.schema import answer_schema

CELL = "religion/answering"


@pytest.fixture(scope="module")
def results(finished: Project) -> Path:
    return finished.folder / "results"


def test_every_table_says_who_made_it(finished: Project, results: Path):
    tables = sorted(results.rglob("*.parquet"))
    assert {path.relative_to(results).parts[0] for path in tables} == {
        ".answers",
        "instances",
        "predictions",
        "measures",
        "evidence",
        "evidence_parts",
        "summary.parquet",
        "sums",
        "intervals",
        "design",
        "comparisons",
        "ranks",
        "convergence.parquet",
        "agreement",
        "verdicts.parquet",
    }
    for table in tables:
        # What the store of answers keeps is another name of predictions.
        facts = read_provenance(table, anywhere=".answers" in table.parts)
        assert facts["config"] == digest(finished.read_config()), table
        assert {"biasgrid", "code", "libraries", "hardware"} <= facts.keys(), table


def test_a_cell_is_traced_to_its_words_and_weights(results: Path):
    facts = read_provenance(results / f"measures/{CELL}.parquet")["predictions"]
    record = json.loads((results / "models/answering.json").read_text())
    assert facts["model"] == record
    assert {"weights", "tokenizer"} <= record.keys()
    assert (facts["precision"], facts["scoring"], facts["devices"]) == ("float32", "exact", ["cpu"])
    assert (
        facts["instances"]["word_lists"]
        == read_provenance(results / "instances/religion/qa.parquet")["word_lists"]
    )
    summary = read_provenance(results / "summary.parquet")["measures"]
    assert summary[CELL]["predictions"] == facts


def test_the_manifest_counts_what_was_made(results: Path):
    manifest = json.loads((results / "manifest.json").read_text())
    assert len(manifest["cells"]) == manifest["totals"]["cells"] == 4
    for cell in manifest["cells"]:
        assert cell["instances_made"] == cell["instances_expected"] > 0
        assert cell["instances_found"] == 0
        assert cell["rows_per_second"] == pytest.approx(
            cell["instances_made"] / cell["seconds"], rel=0.01
        )
        assert cell["sequences"] == cell["instances_made"]
        assert cell["tokens"] > 5 * cell["sequences"]
        assert cell["audit"]["largest_drift"] < 1e-5
        assert cell["peak_mb"] > 100
    assert manifest["models"].keys() == {"masked", "answering"}


def test_the_command_line_prints_it(results: Path):
    # The table stands beside its CSV.
    for name in ("summary.parquet", "summary.csv"):
        printed = CliRunner().invoke(app, ["provenance", str(results / name)])
        assert json.loads(printed.output) == read_provenance(results / "summary.parquet")
    refused = CliRunner().invoke(app, ["provenance", str(results / "manifest.json")])
    assert refused.exit_code == 2
    assert "manifest.json: not a table" in refused.output


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("precision", "its precision differs from that of"),
        ("instances_sha256", "its instances_sha256 differs from that of"),
    ],
)
def test_shards_that_were_made_differently_are_no_cell(
    results: Path, tmp_path: Path, key: str, problem: str
):
    path = results / f"predictions/{CELL}/1-of-1.parquet"
    other = tmp_path / "other.parquet"
    facts = {name: fact for name, fact in read_provenance(path).items() if name != "of"} | {
        key: "another"
    }
    write_table(read_table(path, answer_schema("span")), other, answer_schema("span"), facts)
    instances = results / "instances/religion/qa.parquet"
    with pytest.raises(
        TableError, match=f"other.parquet: {problem}.*expected the same in all shards of a cell"
    ):
        cell_provenance(instances, [path, other])
    if key == "instances_sha256":
        with pytest.raises(
            TableError, match=r"not made from .*qa.parquet; remove it and run again"
        ):
            cell_provenance(instances, [other])


def test_predictions_that_were_scored_otherwise_than_the_config_says_are_no_cell(results: Path):
    path, instances = (
        results / f"predictions/{CELL}/1-of-1.parquet",
        results / "instances/religion/qa.parquet",
    )
    assert (
        cell_provenance(instances, [path], task="question-answering", scoring="exact")["scoring"]
        == "exact"
    )
    with pytest.raises(
        TableError, match=r"its scoring is exact; expected unqover, as in the config; remove it"
    ):
        cell_provenance(instances, [path], task="question-answering", scoring="unqover")


@pytest.mark.parametrize(
    ("table", "other"),
    [
        (f"predictions/{CELL}/1-of-1.parquet", "predictions/gender/answering/1-of-2.parquet"),
        (f"design/{CELL}.parquet", "design/gender/answering.parquet"),
        ("models/answering.json", "models/masked.json"),
        ("tokenizers/tiny.json", "models/answering.json"),
    ],
)
def test_what_is_laid_in_the_place_of_another_output_fails_the_job_that_reads_it(
    finished: Project, tmp_path: Path, table: str, other: str
):
    project = finished.clone(tmp_path)
    results = project.folder / "results"
    (results / table).write_bytes((results / other).read_bytes())
    said = project.run(succeeds=False)
    problem = "is the record of another model" if table.endswith(".json") else "is the table of"
    assert f"results/{table}: {problem}" in said
    assert "remove it and run again" in said
    (results / table).unlink()
    project.run()
    project.check_same_tables(finished)


def test_two_names_of_one_model_and_a_title_with_braces_are_reported_everywhere(
    finished: Project, tmp_path: Path
):
    project = finished.clone(tmp_path)
    config = project.read_config()
    config["title"] = "Bias in {2026} of {model}"
    config["run"]["models"].append("spare")
    project.write_config(config)
    printed = project.run()
    same = "answering and spare have the same weights and are asked alike: they are one model."
    results = project.folder / "results"
    manifest = json.loads((results / "manifest.json").read_text())
    page = (results / "report/index.html").read_text()
    assert (manifest["title"], manifest["same_models"]) == (config["title"], same)
    assert "<h1>Bias in {2026} of {model}</h1>" in page
    for text in (printed, page, project.told("summary", "results").stdout):
        assert same in text


def test_instances_of_other_word_lists_fail_the_job_that_reads_them(
    finished: Project, tmp_path: Path
):
    project = finished.clone(tmp_path / "one")
    other = finished.clone(tmp_path / "other")
    config = other.read_config()
    config["datasets"]["religion"]["limit"]["templates"] = 1
    other.write_config(config)
    table = "results/instances/religion/qa.parquet"
    other.run(table)
    (project.folder / table).write_bytes((other.folder / table).read_bytes())
    assert (
        f"{table}: not up to date with the config's folder of word lists; remove it"
        in project.run(succeeds=False)
    )
    (project.folder / table).unlink()
    project.run()
    project.check_same_tables(finished)
