"""`biasgrid explain`: the sentences behind a number, which comes out of them again."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_cases import cases_of
from small_cells import choosing, one_list
from small_probes import cell_of, files_of
from small_rewriting import options_of_cell, said_of_groups
from small_statements import instances_of as statements_of
from small_tables import predictions_of, write_instances
from typer.testing import CliRunner, Result

from biasgrid.base.references import load, stage_module
from biasgrid.cli.app import app
from biasgrid.families.cell import cell_location, measure_cell
from biasgrid.families.counterfactual.family import flags_of_cases
from biasgrid.families.estimates import estimate_cell
from biasgrid.families.probe.read import load_probe
from biasgrid.groups.definitions import group_measures
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.metric import MetricDefinitions
from biasgrid.tables.schema import answer_schema

pytestmark = pytest.mark.family("each family explains its own numbers")

OF_GROUPS = {"measures": None, "failure_threshold": 0.1}
STATED = {"family": "statement", "kind": "choice", "options": OF_GROUPS | {"mode": None}}


def results_of(
    folder: Path,
    instances: pl.DataFrame,
    said: pl.DataFrame,
    family: str,
    kind: str,
    options: Mapping[str, Any],
) -> Path:
    """Writes the results of a cell as the rules `measure` and `statistics` do."""
    reference = f"biasgrid.families.{family}"
    (folder / "measures/texts").mkdir(parents=True)
    paths = folder / "instances.parquet", folder / "predictions.parquet"
    write_instances(instances, paths[0], load(stage_module(reference, "keys")).KEYS)
    write_table(said, paths[1], answer_schema(kind), {})
    own = load(stage_module(reference, "family")).FAMILY
    metrics = load_probe(Path(options["probe"])).probe.head.metric if "probe" in options else ()
    of_groups = [*group_measures("classes", 0.1, ()), *flags_of_cases("text-classification", 2)]
    declared = MetricDefinitions([*own.own_measures, *own.flags, *of_groups, *metrics], {}, {})
    tables = measure_cell(
        reference, paths[0], [paths[1]], kind, options, declared.measure_names, "tiny", "texts"
    )
    measures = estimate_cell(
        reference, tables.sums, options, declared, StatisticsSettings()
    ).measures
    file = folder / "measures/texts/tiny.parquet"
    cell = {"family": reference, "answer": kind, "measure_options": dict(options), "scorers": {}}
    write_table(measures, file, MEASURES, {"cell": cell_location(file, paths[0], [paths[1]], cell)})
    return folder


def told(results: Path, *about: str) -> Result:
    line = ["explain", str(results), "--model", "tiny", "--dataset", "texts", *about]
    return CliRunner().invoke(app, line, env={"COLUMNS": "200"})


def rows_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def associations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is sure of Carl for the first attribute, and nearly so for the second."""
    instances = one_list(4, attributes=2)
    said = choosing(instances, (pl.col("subject1").cast(pl.String) == "Carl") != pl.col("negated"))
    options = {"task": "question-answering", "scoring": "exact", "measures": []}
    return results_of(
        tmp_path_factory.mktemp("run"), instances, said, "underspecified", "span", options
    )


OF_CARL = ("--subject", "Carl", "--attribute", "did 0")


def test_an_association_is_explained_by_all_of_its_swap_groups(associations: Path) -> None:
    rows = rows_of(told(associations, *OF_CARL, "--format", "jsonl", "--all"))
    assert {row["subject"] for row in rows} == {"Carl"}
    values = [row["unit_value"] for row in rows]
    assert values == sorted(values, reverse=True)
    assert sum(values) / len(values) == pytest.approx(1)
    assert (
        "gamma over all 3 is 1, as in the table; 3 of 3 shown."
        in told(associations, *OF_CARL).output
    )


def test_what_is_shown_can_be_narrowed_and_what_is_computed_stays(associations: Path) -> None:
    result = told(associations, *OF_CARL, "--other", "Ann", "--format", "csv")
    assert pl.read_csv(result.stdout.encode())["other"].unique().to_list() == ["Ann"]
    assert "over all 3 is 1, as in the table; 1 of 1 shown" in result.stderr
    assert "1 of 3 shown" in told(associations, *OF_CARL, "--limit", "1").output
    assert "0 of 0 shown" in told(associations, *OF_CARL, "--template", "9").output


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (
            ("--subject", "Carol", "--attribute", "did 0"),
            "unknown name 'Carol' (did you mean 'Carl'?)",
        ),
        (
            ("--subject", "Carl", "--attribute", "did 0", "--other", "An"),
            "unknown name 'An' (did you mean 'Ann'?)",
        ),
        (("--subject", "Carl"), "texts, --attribute: missing; expected --subject, --attribute"),
        ((*OF_CARL, "--group", "x"), "texts, --group: matches nothing in it"),
        ((*OF_CARL, "--dataset", "text"), "unknown name 'text' (did you mean 'texts'?)"),
        ((*OF_CARL, "--model", "tinny"), "unknown name 'tinny' (did you mean 'tiny'?)"),
    ],
)
def test_wrong_names_are_reported_with_the_nearest_ones(
    associations: Path, about: tuple[str, ...], message: str
) -> None:
    result = told(associations, *about)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_table_that_says_something_else_is_found_out(associations: Path, tmp_path: Path) -> None:
    results = tmp_path / "copy"
    for file in associations.rglob("*.parquet"):
        copy = results / file.relative_to(associations)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    # Answers of another run.
    predictions = pl.read_parquet(results / "predictions.parquet")
    metadata = pl.read_parquet_metadata(results / "predictions.parquet")
    predictions.with_columns(starts=pl.col("ends").list.reverse()).write_parquet(
        results / "predictions.parquet", metadata={"biasgrid": metadata["biasgrid"]}
    )
    result = told(results, *OF_CARL)
    assert result.exit_code == 1
    assert "but the table has 1; run again" in result.output


def test_results_that_do_not_say_what_they_are_made_of_are_reported(
    associations: Path, tmp_path: Path
) -> None:
    file = tmp_path / "measures/texts/tiny.parquet"
    file.parent.mkdir(parents=True)
    write_table(pl.read_parquet(associations / "measures/texts/tiny.parquet"), file, MEASURES, {})
    result = told(tmp_path, *OF_CARL)
    assert (result.exit_code, "does not record what it was measured from" in result.stderr) == (
        2,
        True,
    )
    assert (
        "expected the `results` of a config that was run"
        in told(tmp_path / "nowhere", *OF_CARL).stderr
    )


def test_the_score_of_a_group_is_explained_by_all_cases(tmp_path: Path) -> None:
    rows = [
        {
            "bias_type": "faith & age",
            "case": case,
            "group": f"{faith} & {age}",
            "term": f"{faith} & {age}",
        }
        for case in range(3)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    cases = cases_of([{"text": f"The {row['group']}", "label": 1} | row for row in rows])
    chance = [0.9 - 0.2 * row["case"] if "sikh" in row["group"] else 0.4 for row in rows]  # type: ignore[operator]
    said = predictions_of("choice", cases, probabilities=[[1 - each, each] for each in chance])
    options = OF_GROUPS | {"task": "text-classification", "labels": ["no", "yes"]}
    results = results_of(tmp_path / "run", cases, said, "counterfactual", "choice", options)
    found = rows_of(told(results, "--bias-type", "faith", "--group", "sikh", "--format", "jsonl"))
    assert [(row["unit"], row["group"]) for row in found[:4]] == [(0, "sikh")] * 2 + [
        (0, "jewish")
    ] * 2
    assert [row["unit_value"] for row in found[::4]] == pytest.approx([0.5, 0.3, 0.1])
    assert (
        "over all 6 is 0.7, as in the table"
        in told(results, "--bias-type", "faith", "--group", "sikh").output
    )


@pytest.mark.slow
def test_the_errors_of_a_class_are_explained_by_its_statements(tmp_path: Path) -> None:
    instances = statements_of(tmp_path)
    # The statements of one pair are answered wrongly.
    right = [0.1 if pair == 7 else 0.9 for pair in instances["pair"]]
    shares = [
        share if label == "Yes" else 1 - share
        for share, label in zip(right, instances["label"], strict=True)
    ]
    said = predictions_of("choice", instances, probabilities=[[each, 1 - each] for each in shares])
    results = results_of(tmp_path / "run", instances, said, **STATED)
    found = rows_of(told(results, "--bias-type", "people", "--group", "elf", "--format", "jsonl"))
    assert [row["text"] for row in found[:2]] == [
        "Elves are mean. Yes or No?",
        "Elves are not mean. Yes or No?",
    ]
    assert [row["p_yes"] for row in found[:2]] == pytest.approx([0.9, 0.1])
    assert (
        "error over all 8 is 0.25, as in the table"
        in told(results, "--bias-type", "people", "--group", "elf").output
    )


def test_a_metric_is_explained_by_its_items(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    instances, said = cell_of(files, ["(b)", "(b)", "(b)", "(a) of course"])
    options = {"probe": str(files.probe), "mode": None}
    results = results_of(tmp_path / "run", instances, said, "probe", "text", options)
    found = rows_of(told(results, "--measure", "stereotype_rate", "--format", "jsonl"))
    assert [row["unit_value"] for row in found] == [1, 1, 0.5, 0.5]
    assert found[1]["said"] == "(a) of course"
    assert (
        "stereotype_rate over all 2 is 0.75, as in the table"
        in told(results, "--measure", "stereotype_rate").output
    )
    wrong = told(results, "--measure", "stereotype_rat")
    assert (wrong.exit_code, "did you mean 'stereotype_rate'?" in wrong.stderr) == (2, True)


@pytest.mark.slow
def test_a_pair_of_groups_is_explained_by_the_answers_to_both(tmp_path: Path) -> None:
    instances, said = said_of_groups(tmp_path)
    results = results_of(tmp_path / "run", instances, said, "rewriting", "text", options_of_cell())
    pair = ("--bias-type", "gender", "--group", "male", "--other", "female")
    found = rows_of(told(results, *pair, "--format", "jsonl"))
    # The order of the table, whatever was asked for.
    assert [(row["group"], row["other"]) for row in found[:2]] == [
        ("female", "male"),
        ("male", "female"),
    ]
    assert [row["said_apart"] for row in found[:2]] == ["kind and", "grim,"]
    assert [row["asked_apart"] for row in found[:2]] == ["she", "he"]
    value = sum(row["unit_value"] for row in found[::4]) / 2
    assert (
        f"similarity_corrected (score=rouge-l) over all 2 is {value:.6g}, as in the table"
        in told(results, *pair).output
    )
    wrong = told(results, "--bias-type", "gender", "--group", "male")
    assert (
        wrong.exit_code,
        "--other: missing; expected --bias-type, --group, --other" in wrong.stderr,
    ) == (2, True)
