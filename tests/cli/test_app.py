import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from small_grid import write_general_grid, write_grid
from small_measures import table_of
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.tables.comparison import RANKS
from biasgrid.tables.files import empty_table, write_table
from biasgrid.tables.measures import SUMMARY
from biasgrid.tables.summary import main_ranks
from biasgrid.tables.verdicts import VERDICTS

ROOT = Path(__file__).parents[2]
LISTS = ("--word-lists", str(ROOT / "word_lists"))
runner = CliRunner()


@pytest.mark.family("our grids ask all five")
@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("config", "60 cells, 16 variants"),
        ("demo", "22 cells, 11 variants"),
        ("demo-full", "52 cells, 21 variants"),
        ("fairness", "26 cells, 12 variants"),
    ],
)
def test_validate_counts_the_cells_of_a_good_config(name: str, cells: str) -> None:
    result = runner.invoke(app, ["validate", str(ROOT / "config" / f"{name}.yaml"), *LISTS])
    assert result.exit_code == 0
    assert f"{cells} of datasets, no faults." in " ".join(result.output.split())


@pytest.mark.family("our grids ask all five")
def test_validate_shows_every_fault_and_no_traceback(tmp_path: Path) -> None:
    content = yaml.safe_load((ROOT / "config" / "demo-full.yaml").read_text())
    content |= {"scorin": "exact", "inference": {"precision": "half"}}
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(content))
    result = runner.invoke(app, ["validate", str(tmp_path / "c.yaml")])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "2 faults in the input:" in result.stderr
    line = (tmp_path / "c.yaml").read_text().split("\n").index("scorin: exact") + 1
    assert f"c.yaml, line {line}, scorin: unknown key (did you mean 'scoring'?)" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.family("our grids ask all five")
def test_validate_reads_the_word_lists(tmp_path: Path) -> None:
    lists = shutil.copytree(ROOT / "word_lists", tmp_path / "lists")
    with (lists / "subjects" / "religion.txt").open("a") as file:
        file.write("[subj] a | b | c\n")
    result = runner.invoke(
        app, ["validate", str(ROOT / "config" / "demo-full.yaml"), "--word-lists", str(lists)]
    )
    assert result.exit_code == 2
    assert "1 fault in the input:" in result.stderr
    assert "religion.txt, line 15: 'c' is no frequency" in result.stderr


@pytest.mark.family("our grids ask all five")
@pytest.mark.slow
def test_schema_writes_schema_and_tables_of_keys_columns_and_measures(tmp_path: Path) -> None:
    for folder in ("workflow/schemas", "workflow/report", "config", "docs/public-benchmarks"):
        (tmp_path / folder).mkdir(parents=True)
    tables = {
        "docs/underspecified.md": (
            "measures of underspecified",
            "| `mu` | bias intensity as published: mean over subjects",
        ),
        "config/README.md": ("keys of the config", "| `jobs_per_gpu` | integer | `1` |"),
        "docs/outputs.md": ("columns of SUMMARY", "| `headline` | Boolean |"),
        "docs/figures.md": ("figures", "| `heat_map` |"),
        "docs/measures.md": ("scores", "| `accuracy` | one number | classes |"),
        "docs/validity.md": ("validity flags", "| `clusters` |"),
        "docs/generative.md": (
            "measures of statement",
            "| `error_macro` | error rate by template: mean",
        ),
        "docs/probes.md": (
            "measures of probe",
            "| `by_group` | of a group: the value of one group",
        ),
        "docs/rewriting.md": ("measures of rewriting", "| `similarity` |"),
        "docs/public-benchmarks/bbq.md": ("measures of multiple_choice", "| `bias_ambiguous` |"),
        "docs/public-benchmarks/discrim-eval.md": ("measures of decision", "| `yes_share` |"),
        "docs/scoring.md": ("scorings of sentences", "| `cps` |"),
        "docs/public-benchmarks/pairs.md": ("measures of pairs", "| `stereotype_share` |"),
    }
    for document, (name, _) in tables.items():
        text = f"before\n<!-- table: {name} -->\nout of date\n<!-- end of table -->\nafter\n"
        (tmp_path / document).write_text(text)
    assert runner.invoke(app, ["schema", "--write", str(tmp_path)]).exit_code == 0
    schema = json.loads((tmp_path / "workflow" / "schemas" / "config.schema.json").read_text())
    assert set(schema["required"]) == {"models", "datasets", "run"}
    for document, (_, line) in tables.items():
        text = (tmp_path / document).read_text()
        assert text.startswith("before\n")
        assert text.endswith("<!-- end of table -->\nafter\n")
        assert line in text
        assert "out of date" not in text


def summary_of(
    cell: dict[str, Any], *measured: tuple[str, str, float | None, int, bool]
) -> list[dict[str, Any]]:
    """Lines of a summary: measure, options, value, n, and whether they are headlines."""
    names = ("measure", "options", "value", "n", "headline")
    facts = {"kind": "a kind", "label": "a label", "left_out": 0, "verdict": "nothing found"}
    return [facts | cell | dict(zip(names, each, strict=True)) for each in measured]


def write_verdicts(folder: Path) -> None:
    """A table of verdicts without cells."""
    write_table(empty_table(VERDICTS), folder / "verdicts.parquet", VERDICTS, {})


def test_summary_prints_a_line_per_cell_and_bias_type_of_all_families(tmp_path: Path) -> None:
    asked = "score=mean_token_f1, distance=absolute, comparison=pairwise, mode="
    rows = [
        *summary_of(
            {"model": "bert-squad", "dataset": "religion", "scoring": "exact"},
            ("mu", "", 0.25, 3, True),
            ("winner_changes", "", 0.4, 1234, True),
        ),
        *(
            row
            for bias_type, distance in (("age", 0.125), ("faith & age", None))
            for row in summary_of(
                {"model": "bert-squad", "dataset": "answers", "bias_type": bias_type},
                ("score", "score=mean_token_f1, mode=group", 0.75, 40, True),
                ("distance", f"{asked}counterfactual", distance, 20, True),
                ("distance", f"{asked}group", 0.5, 40, False),
            )
        ),
    ]
    write_table(
        pl.DataFrame(rows, schema=empty_table(SUMMARY).schema),
        tmp_path / "summary.parquet",
        SUMMARY,
        {},
    )
    write_verdicts(tmp_path)
    result = runner.invoke(app, ["summary", str(tmp_path)])
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "religion bert-squad exact 0.250 0.400 1,234" in lines
    assert "answers bert-squad age 0.750 0.125 20" in lines
    assert "answers bert-squad faith & age 0.750 - 20" in lines
    # A terminal may be too narrow for the options.
    words = " ".join(result.output.split())
    assert "score: score=mean_token_f1, mode=group" in words
    assert f"distance: {asked}counterfactual" in words
    assert not any("0.500" in line for line in lines)
    assert str(tmp_path / "report" / "index.html") in result.output


def test_summary_shows_ranks_by_the_first_headline_measure_that_has_some(tmp_path: Path) -> None:
    rows = [
        row
        for model in ("large", "small")
        for row in summary_of(
            {"model": model, "dataset": "religion"},
            ("mu", "", 0.25, 3, True),
            ("mu_corrected", "", 0.2, 3, True),
            ("strength", "", 0.1, 3, True),
            ("epsilon", "", 0.1, 3, False),
        )
    ]
    flag = {
        "model": "small",
        "dataset": "religion",
        "measure": "negation_unread",
        "flag": "it is not read",
    }
    flagged = pl.DataFrame(
        [{**rows[-1], **flag, "headline": False}], schema=empty_table(SUMMARY).schema
    )
    known = pl.DataFrame(rows, schema=empty_table(SUMMARY).schema)
    write_table(known, tmp_path / "summary.parquet", SUMMARY, {})
    write_verdicts(tmp_path)
    places = [("large", 0, 2, 1, 2, 2), ("small", 0, 1, 1, 2, 2), ("alone", 1, 1, 1, 1, 1)]
    names = ("model", "set", "rank", "rank_low", "rank_high", "models")
    ranks = [
        {"measure": measure} | dict(zip(names, place, strict=True))
        for measure in ("epsilon", "mu_corrected", "strength")
        for place in places
    ]
    table = table_of(RANKS, ranks, dataset="religion", options="", value=0.5)
    write_table(table, tmp_path / "ranks" / "religion.parquet", RANKS, {})
    result = runner.invoke(app, ["summary", str(tmp_path)])
    words = " ".join(result.output.split())
    assert "of a rank): religion, mu_corrected: 1 small (1..2), 2 large (1..2) Report:" in words
    # What says nothing of one of the models orders none.
    silenced = {"religion": {"negation_unread": ["mu", "mu_corrected"]}}
    assert {*main_ranks(known, table, silenced)["measure"]} == {"mu_corrected"}
    assert {*main_ranks(pl.concat([known, flagged]), table, silenced)["measure"]} == {"strength"}


def test_summary_of_a_folder_without_one_is_an_error_without_traceback(tmp_path: Path) -> None:
    result = runner.invoke(app, ["summary", str(tmp_path)])
    assert result.exit_code == 2
    assert f"there is no {tmp_path}/summary.parquet: the run has not finished" in result.stderr
    assert "remove" not in result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("manifest.json", "manifest.json: not a table; expected a .parquet file of the results"),
        ("summary.parquet", "there is no "),
    ],
)
def test_provenance_of_what_is_no_table_is_an_error_without_traceback(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    result = runner.invoke(app, ["provenance", str(tmp_path / name)])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "remove it" not in result.stderr


def test_schema_outside_of_the_repository_is_an_error_without_traceback(tmp_path: Path) -> None:
    result = runner.invoke(app, ["schema", "--write", str(tmp_path)])
    assert result.exit_code == 2
    assert (
        f"there is no {tmp_path}/workflow/schemas; run this in the root of the repository"
        in result.stderr
    )


@pytest.mark.family("our grids ask all five")
@pytest.mark.slow
def test_lines_are_not_wrapped_where_the_output_is_no_terminal(tmp_path: Path) -> None:
    folder = tmp_path / ("a-long-name-" * 10)
    folder.mkdir()
    config = shutil.copy(ROOT / "config" / "demo-full.yaml", folder)
    command = [
        sys.executable,
        "-c",
        "from biasgrid.cli.app import app; app()",
        "validate",
        config,
        *LISTS,
    ]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    # Away from the repository, where results of the demo may lie, of whose models more can be said.
    run = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    first, second = run.stdout.splitlines()
    assert first == f"{config}: 52 cells, 21 variants of datasets, no faults."
    assert second == (
        "80 of 132 pairs of model and dataset are not asked, because the dataset is for other "
        "kinds of model"
    )


def test_plan_prints_a_table_or_json(tmp_path: Path) -> None:
    config = str(write_general_grid(tmp_path))
    result = runner.invoke(app, ["plan", config])
    assert result.exit_code == 0
    assert "0 of 9 shards predicted, 0 of 6 cells measured" in result.output
    result = runner.invoke(app, ["plan", config, "--rows-per-second", "10", "--json"])
    plan = json.loads(result.output)
    assert len(plan["cells"]) == 6
    cell = plan["cells"][2]
    assert (cell["model"], cell["instances"], cell["instances_is"]) == ("masked", 144, "exact")
    assert (cell["seconds"], cell["flop"], cell["flop_is"], cell["parameters"]) == (
        14.4,
        None,
        None,
        None,
    )
    assert plan["totals"]["shards"] == 9


@pytest.mark.family("our grid asks underspecified questions")
def test_plan_of_the_standard_grid_needs_nothing_but_config_and_word_lists() -> None:
    result = runner.invoke(app, ["plan", str(ROOT / "config" / "config.yaml"), *LISTS, "--json"])
    plan = json.loads(result.output)
    assert plan["totals"]["cells"] == 60
    gender = [cell["instances"] for cell in plan["cells"] if cell["dataset"] == "gender"]
    assert gender == [2 * 70 * 70 * 4 * 70 * 2] * 15


@pytest.mark.parametrize("options", [["--rate", "1", "--rows-per-second", "1"], ["--rate", "0"]])
def test_plan_refuses_rates_that_cannot_be(tmp_path: Path, options: list[str]) -> None:
    result = runner.invoke(app, ["plan", str(write_general_grid(tmp_path)), *options])
    assert result.exit_code == 2
    assert "rate" in result.output


def test_status_prints_a_table_or_json(tmp_path: Path) -> None:
    config = str(write_general_grid(tmp_path))
    result = runner.invoke(app, ["status", config])
    assert result.exit_code == 0
    assert "0/6 done" in result.output
    status = json.loads(runner.invoke(app, ["status", config, "--json"]).output)
    assert status["totals"]["states"] == {
        "failed": 0,
        "running": 0,
        "incomplete": 0,
        "waiting": 6,
        "done": 0,
    }
    assert status["totals"]["seconds_left"] is None
    cell = status["cells"][0]
    assert (cell["state"], cell["expanded"], cell["instances"], cell["rows"]) == (
        "waiting",
        False,
        144,
        0,
    )
    assert status["failures"] == []


@pytest.mark.parametrize("command", ["plan", "status"])
def test_plan_and_status_show_every_fault_and_no_traceback(tmp_path: Path, command: str) -> None:
    config = write_general_grid(tmp_path, scorin="exact", title=3)
    result = runner.invoke(app, [command, str(config)])
    assert result.exit_code == 2
    assert "2 faults in the input:" in result.stderr
    line = config.read_text().split("\n").index("scorin: exact") + 1
    assert (
        f"config.yaml, line {line}, scorin: unknown key (did you mean 'scoring'?)" in result.stderr
    )
    assert "Traceback" not in result.stderr


@pytest.mark.family("associations have the variances that a forecast reads")
@pytest.mark.slow
def test_plan_shows_how_much_to_ask_for_a_width(tmp_path: Path) -> None:
    config = str(write_grid(tmp_path))
    told = runner.invoke(app, ["plan", config, "--width", "0.01"]).output
    assert "people (qa): a mean over templates, 2 clusters, assumed" in told
    assert "no sample has a width of 0.01" in told
    told = runner.invoke(app, ["plan", config, "--intervals", "--json"]).output
    (steps,) = [
        each["steps"]
        for each in json.loads(told)["intervals"]
        if (each["dataset"], each["variant"]) == ("people", "qa")
    ]
    assert [step["share"] for step in steps] == [1, 0.3, 0.1, 0.03, 0.01]
    assert steps[0]["width_is"] == "about"


@pytest.mark.family("a family of one file has its heavy half in its light one")
@pytest.mark.slow
def test_plan_imports_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from biasgrid.cli.app import "
        "app; app(standalone_mode=False); print([*sys.modules])"
    )
    line = [sys.executable, "-c", code, "plan", str(write_grid(tmp_path))]
    output = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    modules = output.splitlines()[-1]
    assert "'biasgrid.runs.plan'" in modules
    assert not any(
        f"'{name}'" in modules for name in ("torch", "transformers", "polars", "snakemake")
    )
