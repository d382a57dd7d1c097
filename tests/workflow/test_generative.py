"""The worked example of docs/generative.md through Snakemake, with a tiny language model, and its
texts in shards.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import yaml
from documents import read_document, shown_files, table_with, write_files
from project import Project
from shards import Cell
from shared import made_once
from tiny_writers import CHAT_TEMPLATE, save_writer

import biasgrid
from biasgrid.families.statement.ask import KEYS
from biasgrid.tables.files import read_provenance, read_table
from biasgrid.tables.instances import read_instances
from biasgrid.tables.schema import answer_schema

DOCUMENT = read_document("docs/generative.md")
WORDS = " ".join(DOCUMENT.split())
FILES = shown_files(DOCUMENT)
CONFIG = yaml.safe_load(FILES["config/leaders.yaml"])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the example makes with a tiny model in place of the one on the hub."""
    return (
        made_once(tmp_path_factory, "worked-generative", make_example)
        / "project"
        / CONFIG["results"]
    )


def make_example(folder: Path) -> None:
    writer = save_writer(folder / "writer", "llama", CHAT_TEMPLATE, positions=1024)
    source = {"checkpoint", "revision"}
    model = {key: value for key, value in CONFIG["models"]["small"].items() if key not in source}
    model["folder"] = str(writer)
    project = Project.create(folder / "project", CONFIG | {"models": {"small": model}})
    write_files(project.folder, FILES)
    project.run()


def answers(results: Path, dataset: str, kind: str) -> pl.DataFrame:
    tables = sorted((results / "predictions" / dataset / "small").glob("*.parquet"))
    return pl.concat(read_table(path, answer_schema(kind)) for path in tables).cast(
        {pl.Categorical: pl.String}
    )


def test_all_its_files_are_shown() -> None:
    names = ["templates.csv", "people.txt", "skills.txt", "leaders.yaml"]
    assert [Path(name).name for name in FILES] == names


def test_it_asks_what_it_shows(results: Path) -> None:
    scored, written = (
        read_instances(results / f"instances/{name}/statements.parquet", KEYS)
        for name in ("scored", "written")
    )
    assert (scored["pair"].n_unique(), len(scored), len(written)) == (20, 40, 40)
    assert "20 statements, and with their negations 40 instances of `scored`" in WORDS
    counts = dict(
        written.unique("pair")
        .group_by(pl.col("template_id").cast(pl.String).str.strip_prefix("not-"))
        .len()
        .rows()
    )
    assert sorted(counts.values()) == [4, 6]
    assert "4 of those about leading and 6 of those about skills" in WORDS
    columns = ["instance", "template_id", "pair", "negated", "label", "text"]
    shown = scored.head(2).select(pl.col(columns).cast(pl.String))
    lines = shown.with_columns(pl.col("text").str.replace_all("\n", "\\n", literal=True)).to_dicts()
    assert lines == table_with(DOCUMENT, *columns)
    assert len(answers(results, "faiths", "choice")) == 112
    assert "`faiths` asks 28 swap groups, as many whole blocks as 40 hold: 112 instances" in WORDS


def test_it_measures_what_it_shows(results: Path) -> None:
    columns = ["measure", "n", "left_out"]
    shown = table_with(DOCUMENT, *columns)
    measures = biasgrid.open(results).measures("scored", "small")
    keys = pl.all_horizontal(pl.col("template", "bias_type", "group", "subject").is_null())
    whole = measures.filter(keys, pl.col("measure").is_in([row["measure"] for row in shown]))
    assert whole.select(pl.col(columns).cast(pl.String)).sort("measure").to_dicts() == sorted(
        shown, key=lambda row: row["measure"]
    )
    assert whole["value"].null_count() == 0
    assert answers(results, "scored", "choice")["scored_by"].unique().to_list() == ["logits"]


def test_texts_match_one_shard_in_other_batches(results: Path, tmp_path: Path) -> None:
    in_shards = answers(results, "written", "text")
    assert in_shards["response"].n_unique() > 20
    instances = read_instances(results / "instances/written/statements.parquet", KEYS)
    whole = Cell(tmp_path, "text-generation", instances, results.parents[2] / "writer")
    generation = read_provenance(results / "measures/written/small.parquet")["predictions"][
        "generation"
    ]
    said = whole.predict(answer="text", generation=generation, token_budget=300)
    assert len(said) == len(in_shards) == 40
    for name in ("response", "status", "tokens_in", "tokens_out"):
        assert said[name].cast(in_shards[name].dtype).equals(in_shards[name]), name


def test_the_report_says_how_it_was_answered(results: Path) -> None:
    told = read_provenance(results / "measures/written/small.parquet")["answered"]
    assert told["answers"] == sum(told["status"].values()) == 40
    page = (results / "report/index.html").read_text()
    assert page.count("How the models answered") == 3
    assert all(f"<td>{way}</td>" in page for way in ("logits", "none"))
    assert "Length" in page
