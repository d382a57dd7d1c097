"""Which models are compared, how, and what is kept of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from documents import read_document
from grouped_cells import MARKS, cell_of, write_results
from rich.console import Console
from typer.testing import CliRunner
from worlds import centred, world

from biasgrid.cli.app import app
from biasgrid.stats.compare.all_pairs import compare_models, compare_runs
from biasgrid.stats.compare.cells import ComparedCell
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.comparison import COMPARISON_TABLES, PARTS_KEPT
from biasgrid.tables.files import validate_table

pytestmark = pytest.mark.family("strengths are derived of associations")

RANDOM = np.random.default_rng(1)
EFFECTS = centred(3.0 * RANDOM.normal(size=(6, 10)))
WEAK = world(RANDOM, 4, EFFECTS / 10, subjects=6, attributes=10)
STRONG = world(RANDOM, 4, EFFECTS, subjects=6, attributes=10)


def reason_of(*cells: ComparedCell) -> str | None:
    found = compare_models("world", cells, StatisticsSettings())
    for name, schema in COMPARISON_TABLES.items():
        validate_table(getattr(found, name), schema, name)
    rows = found.comparisons.filter(measure="mu_corrected")
    assert (rows["difference"].null_count() > 0) == (rows["reason"].null_count() < len(rows))
    return str(rows["reason"].item()) if rows["reason"].count() else None


def test_strong_is_distinguished_from_weak() -> None:
    found = compare_models(
        "world", [cell_of("strong", STRONG), cell_of("weak", WEAK)], StatisticsSettings()
    )
    row = found.comparisons.filter(measure="mu_corrected").row(0, named=True)
    assert row["low"] > 0
    assert row["difference"] == pytest.approx(row["value"] - row["other_value"])
    assert (row["paired"], row["clusters"], row["reason"]) == (True, 4, None)
    associations = found.comparisons.drop_nulls("attribute")
    assert len(associations) == PARTS_KEPT
    assert associations["tests"].unique().to_list() == [60]
    assert associations["difference"].abs().is_sorted(descending=True)
    assert found.ranks.filter(measure="mu_corrected").select(
        "rank", "rank_low", "rank_high"
    ).rows() == [
        (1, 1, 1),
        (2, 2, 2),
    ]


def test_a_model_does_not_differ_from_itself() -> None:
    found = compare_models(
        "world", [cell_of("one", WEAK), cell_of("other", WEAK)], StatisticsSettings()
    )
    assert found.comparisons["difference"].unique().to_list() == [0.0]
    assert found.comparisons.filter(pl.col("q") <= 0.05).is_empty()
    assert found.ranks.filter(measure="strength").select("rank_low", "rank_high").rows() == [
        (1, 2),
        (1, 2),
    ]
    assert found.agreement["value"].item() == pytest.approx(1)


def test_unlike_templates_are_not_paired() -> None:
    cells = [cell_of("one", STRONG), cell_of("other", WEAK, templates="others")]
    apart = (
        compare_models("world", cells, StatisticsSettings())
        .comparisons.filter(measure="strength")
        .row(0, named=True)
    )
    paired = compare_models(
        "world", [cells[0], cell_of("other", WEAK)], StatisticsSettings()
    ).comparisons
    assert apart["paired"] is False
    assert apart["difference"] == pytest.approx(
        paired.filter(measure="strength")["difference"].item()
    )
    assert apart["low"] < apart["difference"] < apart["high"]


def test_what_may_not_be_compared_says_why() -> None:
    one = cell_of("one", STRONG, how_asked={"scoring": "exact"})
    assert reason_of(one, cell_of("two", WEAK, how_asked={"scoring": "exact"})) is None
    assert (
        reason_of(one, cell_of("two", WEAK, how_asked={"scoring": "parsed"}))
        == "scored in different ways: exact and parsed"
    )
    names = ["subject 0", "subject 1", "subject 2", "subject 3", "subject 4", "Mary"]
    unlike = cell_of("two", WEAK, subjects=names, how_asked={"scoring": "exact"})
    assert (
        reason_of(one, unlike)
        == "asked about unlike lists: subject 5 of one alone; Mary of two alone"
    )
    silent = ComparedCell("two", one.numbers.clear(), {"scoring": "exact"}, "the same")
    assert reason_of(one, silent) == "nothing is measurable of two"


def test_models_that_may_not_be_compared_are_ranked_apart() -> None:
    ways = {
        "first": "exact",
        "second": "logits",
        "third": "exact",
        "fourth": "logits",
        "fifth": "parsed",
    }
    cells = [cell_of(name, WEAK, how_asked={"scoring": way}) for name, way in ways.items()]
    ranks = compare_models("world", cells, StatisticsSettings()).ranks.filter(measure="strength")
    assert ranks.select("set", "model", "models").rows() == [
        (0, "first", 2),
        (0, "third", 2),
        (1, "second", 2),
        (1, "fourth", 2),
    ]


def test_too_few_clusters_give_a_difference_without_interval() -> None:
    one, other = (
        cell_of(name, values[..., :1]) for name, values in (("one", STRONG), ("other", WEAK))
    )
    rows = compare_models("world", [one, other], StatisticsSettings()).comparisons.drop_nulls(
        "attribute"
    )
    assert rows["difference"].null_count() == 0
    assert rows["low"].count() == rows["q"].count() == 0
    assert rows["reason"].str.starts_with("no interval").all()


def test_a_cluster_that_one_model_has_nothing_of_changes_nothing_there() -> None:
    one = cell_of("one", STRONG)
    lacks = pl.concat_list(pl.lit(None, pl.Float64), pl.col("without").list.tail(3))
    cells = [one._replace(numbers=one.numbers.with_columns(without=lacks)), cell_of("other", WEAK)]
    row = (
        compare_models("world", cells, StatisticsSettings())
        .comparisons.filter(measure="strength")
        .row(0, named=True)
    )
    assert (row["clusters"], row["paired"]) == (4, True)
    assert row["low"] < row["high"]


def test_runs_are_compared_however_they_were_scored() -> None:
    later, before = (
        cell_of("model", WEAK, how_asked={"scoring": "unqover"}),
        cell_of("model", STRONG, how_asked={"scoring": "exact"}),
    )
    rows = compare_runs("world", [later], [before], StatisticsSettings()).filter(
        measure="mu_corrected"
    )
    assert rows.select("model", "other_model").row(0) == ("model", "model")
    assert rows["high"].item() < 0


def test_marks_are_next_to_each_other(results: Path) -> None:
    found = compare_models(
        "world", [cell_of("strong", STRONG), cell_of("weak", WEAK)], StatisticsSettings(), MARKS
    ).comparisons
    row = found.filter(measure="strength").row(0, named=True)
    assert row["other_value"] < 1 < row["value"]
    assert (row["mark"], row["other_mark"]) == ("B", "A")
    assert row["low"] < row["difference"] < row["high"]
    # Gamma has no marks, and parts have none at all.
    assert found.filter(pl.col("measure") != "strength")["mark"].count() == 0
    forward, backward = (
        told(str(results), *names) for names in (("strong", "weak"), ("weak", "strong"))
    )
    shown = f"{format_number(row['value'])} B", f"{format_number(row['other_value'])} A"
    for output, order in ((forward, shown), (backward, shown[::-1])):
        assert "  ".join(order) in output


def told(*arguments: str, code: int = 0) -> str:
    with pytest.MonkeyPatch.context() as patch:
        # However wide the terminal was when the package was imported.
        patch.setattr("biasgrid.cli.commands.compare.console", Console(width=1000))
        result = CliRunner().invoke(app, ["compare", *arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    return write_results(folder, {"strong": STRONG, "weak": WEAK})


def test_the_command_turns_pairs_as_they_are_asked_for(results: Path) -> None:
    forward, backward = (
        told(str(results), *names) for names in (("strong", "weak"), ("weak", "strong"))
    )
    value = compare_models(
        "world", [cell_of("strong", STRONG), cell_of("weak", WEAK)], StatisticsSettings()
    ).comparisons
    row = value.filter(measure="strength").row(0, named=True)
    difference, low, high = (row[name] for name in ("difference", "low", "high"))
    assert (
        "  ".join([format_number(difference), f"{format_number(low)}..{format_number(high)}"])
        in forward
    )
    assert (
        "  ".join([format_number(-difference), f"{format_number(-high)}..{format_number(-low)}"])
        in backward
    )
    assert "world: weak less strong" in backward
    assert "of 60 are distinguishable" in forward


def test_the_command_compares_runs(results: Path, tmp_path: Path) -> None:
    other = write_results(tmp_path, {"strong": STRONG / 2, "spare": WEAK})
    output = told(str(results), str(other))
    assert f"world: {results}, strong less {other}, strong" in output
    assert "spare" not in output


def test_the_command_says_what_is_not_there(results: Path, tmp_path: Path) -> None:
    assert "no model 'wek' (did you mean 'weak'?)" in told(str(results), "strong", "wek", code=2)
    assert "'weak' is given twice" in told(str(results), "weak", "weak", code=2)
    assert "no dataset 'moon'; expected one of world" in told(
        str(results), "strong", "weak", "--dataset", "moon", code=2
    )
    assert "expected a finished run" in told(str(tmp_path), "strong", "weak", code=2)
    assert "there is no folder" in told(str(results), str(tmp_path / "none"), code=2)
    alone = write_results(tmp_path, {"strong": STRONG})
    assert f"{alone} compares no models; `biasgrid summary" in told(
        str(alone), "strong", "weak", code=2
    )


def test_the_worked_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    document = read_document("docs/guide/comparing.md")
    code, printed = (
        re.search(rf"^```{kind}\n(.*?)^```$", document, re.M | re.S)[1]
        for kind in ("python", "text")
    )  # type: ignore[index]
    names: dict[str, Any] = {}
    exec(code, names)  # The document's own.
    assert capsys.readouterr().out == printed
    # The first subject of two models has these associations, the others lack them.
    values = [
        np.array([clusters, [-each for each in clusters]])[:, None]
        for clusters in (names["first"], names["second"])
    ]
    cells = [cell_of(name, each) for name, each in zip(("first", "second"), values, strict=True)]
    row = compare_models("world", cells, StatisticsSettings()).comparisons.filter(
        subject="subject 0", attribute="attribute 0"
    )
    told = "difference: {difference:.3f} ({low:.3f} to {high:.3f})".format(**row.row(0, named=True))
    assert told == printed.splitlines()[-1]
