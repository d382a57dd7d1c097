"""The demo, small and full: models with a synthetic bias, from word lists to the report; the known
effect comes out.
"""

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from copies import shared_fork_server
from kept_measures import effects_of, kept_effects
from polars.testing import assert_frame_equal
from project import OF_EACH_KIND, ROOT, Project
from slurm_cluster import SlurmCluster, SlurmProject, name_of_job
from small_tables import check_alike
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.config import parse_config
from biasgrid.runs.layout import Layout
from biasgrid.stats.recovery import measured_and_synthetic, recovery
from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.files import read_table, read_tables
from biasgrid.tables.measures import MEASURES, SUMMARY, SYNTHETIC
from biasgrid.tables.schema import answer_schema

OF_QUESTIONS = ["gender", "nationality", "ethnicity", "religion"]
LEAST_CORRELATION, SLOPES, LARGEST_UNBIASED_MU = 0.95, (0.8, 1.2), 0.02
LARGEST_UNBIASED_BIAS, LARGEST_ERROR_OF_ITEMS = 0.03, 0.1
STRENGTH = pl.col("model").cast(pl.String).str.extract(r"(\w+)-").alias("strength")
"""A model's name begins with the strength that it learned."""


class Grid:
    """A demo that has been run."""

    def __init__(self, project: Project):
        self.project, self.results = project, project.results
        self.models: list[str] = project.read_config()["run"]["models"]
        self.datasets: list[str] = project.read_config()["run"]["datasets"]
        self.questions = [dataset for dataset in OF_QUESTIONS if dataset in self.datasets]

    def strengths(self, kind: str) -> list[str]:
        """The strengths of which there is a model of a kind, the weakest first."""
        return [
            model.removesuffix(f"-{kind}") for model in self.models if model.endswith(f"-{kind}")
        ]

    def measures(self, *datasets: str) -> pl.DataFrame:
        rows = read_tables(
            sorted(self.results.glob("measures/*/*.parquet")), MEASURES
        ).with_columns(STRENGTH)
        return rows.filter(pl.col("dataset").is_in(datasets or self.datasets))

    def synthetic(self) -> pl.DataFrame:
        return read_tables(sorted(self.results.glob("synthetic/*/synthetic.parquet")), SYNTHETIC)

    def summary(self) -> pl.DataFrame:
        return read_table(self.results / "summary.parquet", SUMMARY).with_columns(STRENGTH)


@pytest.fixture(scope="session")
def grid(either: Project) -> Grid:
    return Grid(either)


@pytest.fixture(scope="session")
def pairs(grid: Grid) -> pl.DataFrame:
    """What was measured beside the known effect."""
    measures = grid.measures()
    strengths: dict[str, dict[str, str]] = {}
    for dataset, model, strength in (
        measures.select("dataset", "model", "strength").unique().iter_rows()
    ):
        strengths.setdefault(dataset, {})[model] = strength
    # Of a placebo nothing is put in, whatever the strength.
    beside = measured_and_synthetic(measures.drop("strength"), grid.synthetic(), strengths)
    return beside.filter(pl.col("dataset") != "placebo")


def test_a_second_run_does_nothing(grid: Grid):
    assert grid.project.planned() == {}


def test_it_has_a_folder_of_its_own_and_ends_with_a_row_for_each_model(
    demo: Project, tmp_path: Path
):
    demo.clone(tmp_path / "biasgrid-demo")
    command = [sys.executable, "-c", "from biasgrid.cli.app import app; app()", "demo"]
    environment = os.environ | shared_fork_server()
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    _, found = run.stdout.split("Found:\n")
    first_words = {line.split()[0] for line in found.splitlines() if line.strip()}
    assert set(demo.read_config()["run"]["models"]) <= first_words
    assert found.splitlines()[-1] == "Report: biasgrid-demo/results/demo/report/index.html"
    assert [path.name for path in tmp_path.iterdir()] == ["biasgrid-demo"]


def test_labels_say_what_bias_a_model_was_given(grid: Grid):
    labels = dict(grid.summary().select("strength", "label").unique().iter_rows())
    assert labels == {strength: strength for strength in labels} | {"none": "no planted bias"}


@pytest.mark.parametrize(
    "cells",
    [OF_EACH_KIND[3:4], pytest.param(OF_EACH_KIND, marks=pytest.mark.long)],
    ids=["a model", "a model of each kind"],
)
def test_a_demo_that_is_made_again_has_the_same_numbers(
    demo: Project, tmp_path: Path, cells: list[tuple[str, str]]
):
    again = Project.create(tmp_path / "again", demo.read_config(), demo.file)
    layout = Layout(parse_config(demo.read_config(), demo.file))
    tables = [layout.measures(dataset, model) for model, dataset in cells]
    again.run(*map(str, tables))
    for table in tables:
        check_alike(
            read_table(again.folder / table, MEASURES), read_table(demo.folder / table, MEASURES)
        )


def test_what_is_synthetic_is_the_kept(grid: Grid):
    kept = pl.read_parquet(kept_effects(grid.results))
    assert_frame_equal(effects_of(grid.results), kept, rel_tol=1e-12, abs_tol=1e-12)


def test_the_kept_reference_is_of_this_demo(demo: Project, tmp_path: Path):
    models = [f"--model={model}" for model in demo.read_config()["run"]["models"]]
    line = [
        "reference",
        "add",
        str(demo.results),
        *models,
        "--name",
        "demo",
        "--folder",
        str(tmp_path),
    ]
    made = CliRunner().invoke(app, line)
    assert made.exit_code == 0, made.output
    of_run, kept = (
        json.loads((folder / "demo.json").read_text()) for folder in (tmp_path, ROOT / "reference")
    )
    asked = ("dataset", "kind", "label", "asked", "scoring")
    cells = [
        [{key: cell[key] for key in asked} for cell in file["cells"]] for file in (of_run, kept)
    ]
    assert cells[0] == cells[1]
    named = ("dataset", "kind", "label", "measure")
    figures = [
        [{key: figure[key] for key in named} for figure in file["figures"]]
        for file in (of_run, kept)
    ]
    assert figures[0] == figures[1]


def test_models_of_unlike_strength_are_distinguished_and_those_without_bias_are_not(grid: Grid):
    rows = read_table(grid.results / "comparisons/gender.parquet", COMPARISONS)
    associations = rows.filter(measure="gamma").drop_nulls(["subject", "attribute"])
    shares = associations.group_by("model", "other_model").agg((pl.col("q") <= 0.05).mean())
    found = {(model, other): share for model, other, share in shares.iter_rows()}
    for kind in ("qa", "lm"):
        for weaker, stronger in pairwise(grid.strengths(kind)):
            assert found[f"{weaker}-{kind}", f"{stronger}-{kind}"] >= 0.9
    assert found["none-qa", "none-lm"] == 0
    refused = rows.filter(model="none-qa", other_model="none-llm")["reason"].unique().to_list()
    assert refused == ["scored in different ways: exact and logits"]


def test_synthetic_associations_are_measured(grid: Grid, pairs: pl.DataFrame):
    of_subjects = pairs.filter(
        pl.col("strength") != "none", pl.col("subject").is_not_null(), measure="gamma"
    )
    biased = recovery(of_subjects, "model", "dataset")
    of_kinds = [len(grid.strengths(kind)) - 1 for kind in ("qa", "lm", "llm")]
    assert len(biased) == sum(of_kinds) * len(grid.questions)
    assert biased["correlation"].min() > LEAST_CORRELATION
    assert biased["slope"].is_between(*SLOPES).all()


def test_mu_rises_with_the_synthetic_strength(grid: Grid):
    summary = grid.summary().filter(pl.col("dataset") != "placebo", measure="mu")
    for (kind, _), rows in summary.group_by("kind", "dataset"):
        mu = dict(rows.select("strength", "value").iter_rows())
        in_order = [mu[strength] for strength in grid.strengths(kind.lower())]
        assert in_order == sorted(in_order)
        assert mu["none"] < LARGEST_UNBIASED_MU
    assert summary.n_unique(["kind", "dataset"]) == 3 * len(grid.questions)


def test_what_is_synthetic_is_discovered_and_nothing_else(grid: Grid):
    rows = grid.measures(*grid.questions)
    tests = rows.filter(measure="gamma").drop_nulls(["subject", "attribute", "q"])
    found = dict(tests.group_by("strength").agg((pl.col("q") <= 0.05).mean()).iter_rows())
    assert found["none"] == 0
    assert found.get("weak", 1) > 0.9
    assert found["strong"] == 1
    for model, p in rows.filter(measure="mu").select("model", "p").iter_rows():
        assert (p > 0.05) == model.startswith("none"), model


def test_groups_are_distinguished_where_they_were_taught_and_nowhere_else(grid: Grid):
    """Claims about a group of names, over clusters of templates and names."""
    groups = (
        grid.measures("gender")
        .filter(measure="share_gamma")
        .drop_nulls(["subject_group", "attribute"])
    )
    assert set(groups["generalises_to"]) == {"clusters x names"}
    found = dict(groups.group_by("strength").agg((pl.col("q") <= 0.05).mean()).iter_rows())
    assert found == {strength: float(strength != "none") for strength in grid.strengths("qa")}


def test_of_a_placebo_nothing_is_significant(grid: Grid):
    tests = (
        grid.measures("placebo").filter(measure="gamma").drop_nulls(["subject", "attribute", "q"])
    )
    assert tests.n_unique("model") == sum(len(grid.strengths(kind)) for kind in ("qa", "lm", "llm"))
    assert tests["q"].min() > 0.05


def test_every_number_of_questions_has_an_interval(grid: Grid):
    headline = grid.measures(*grid.questions).filter(
        pl.col("measure").is_in(["mu_corrected", "strength"])
    )
    assert set(headline["dataset"]) == set(grid.questions)
    assert set(headline["clusters"]) == {4}
    assert headline.select("low", "high").null_count().row(0) == (0, 0)


@pytest.mark.parametrize(("dataset", "bias_types"), [("sentiment", 2), ("entailment", 1)])
def test_synthetic_group_effects_are_measured(pairs: pl.DataFrame, dataset: str, bias_types: int):
    effects = pairs.filter(dataset=dataset, measure="difference")
    assert effects.filter(strength="none")["measured"].abs().max() < LARGEST_UNBIASED_MU
    biased = recovery(effects.filter(strength="strong"), "bias_type")
    assert len(biased) == bias_types
    assert biased["correlation"].min() > LEAST_CORRELATION
    assert biased["slope"].is_between(*SLOPES).all()


def test_synthetic_prejudices_are_measured(pairs: pl.DataFrame):
    biases = pairs.filter(dataset="statements", measure="bias")
    assert biases.filter(strength="none")["measured"].abs().max() < LARGEST_UNBIASED_BIAS
    biased = recovery(biases.filter(strength="strong"), "bias_type")
    assert biased["bias_type"].to_list() == ["gender", "religion"]
    assert biased["n"].to_list() == [4, 7]
    assert biased["correlation"].min() > LEAST_CORRELATION
    assert biased["slope"].is_between(*SLOPES).all()


def test_what_is_synthetic_in_probes_and_rewritten_prompts_is_measured(pairs: pl.DataFrame):
    rates = pairs.filter(dataset="choices", measure="stereotype_rate")
    # Of twelve items, which the strong model has not learned to the end; its interval holds what
    # was put in.
    assert rates["measured"].to_numpy() == pytest.approx(
        rates["synthetic"].to_numpy(), abs=LARGEST_ERROR_OF_ITEMS
    )
    unkind = pairs.filter(dataset="talk", measure="mean_score")
    assert len(unkind) == 2 * 3
    # The scores are of answers that are drawn: 100 of each group, with 0.6 of an unkind one.
    assert unkind["measured"].to_numpy() == pytest.approx(
        unkind["synthetic"].to_numpy(), abs=3 * 0.6 * 0.05
    )


def test_generative_models_say_what_they_are_asked_for(grid: Grid):
    """Letters, and Yes or No, have all of the probability: whatever else they could say is never
    right.
    """
    scored = [
        path
        for path in grid.results.glob("predictions/*/*-llm/*.parquet")
        if "talk" not in path.parts
    ]
    answers = read_tables(scored, answer_schema("choice"))
    assert len(scored) == 2 * (len(grid.questions) + len(["placebo", "statements", "choices"]))
    assert answers["mass"].min() > 0.98
    assert answers["unknown"].sum() == 0


@pytest.mark.long
def test_names_that_no_tokenizer_knows_are_not_measurable(full_demo: Project):
    """The one dataset of the full demo in which nothing is measured, and it alone."""
    summary = Grid(full_demo).summary()
    withheld = summary.filter(pl.col("headline"), pl.col("flag").str.starts_with("not measurable"))
    assert withheld["value"].null_count() == len(withheld)
    assert set(withheld.select("model", "dataset").rows()) == {
        ("none-sentiment", "nicknames"),
        ("strong-sentiment", "nicknames"),
    }
    reason = (
        "not measurable: 100% of the instances contain text that the tokenizer does not know, or "
        "splits into letters"
    )
    assert set(withheld["flag"]) == {reason}
    page = (full_demo.results / "report/index.html").read_text()
    assert "Unknown nicknames: 100% of the instances contain text" in page
    assert "use words that the tokenizer knows" in page


def test_figures_of_the_grid_name_no_cell_that_they_would_not_draw(grid: Grid) -> None:
    left_out = {
        path.stem
        for path in grid.results.glob("plots/grid/*.svg")
        if "Left out" in path.read_text()
    }
    # The tokenizer of a classifier does not know nicknames, of which the figures of mu and eta show
    # nothing.
    assert left_out == ({"convergence", "synthetic"} if "nicknames" in grid.datasets else set())


@pytest.mark.parametrize(
    "cells",
    [OF_EACH_KIND, pytest.param(None, marks=pytest.mark.long)],
    ids=["a model of each kind", "the whole grid"],
)
def test_slurm_jobs_with_a_gpu_predict_cells_alike(
    demo: Project, cluster: SlurmCluster, tmp_path: Path, cells: list[tuple[str, str]] | None
):
    grid = parse_config(demo.read_config(), demo.file)
    shards = {
        name_of_job(dataset, model, shard.predictions.stem): shard.predictions
        for model, dataset in cells or grid.cells()
        for shard in Layout(grid).shards(dataset, model)
    }
    project = SlurmProject(demo.clone(tmp_path / "project").folder, demo.file)
    project.ask_for_gpus()
    project.submit_shards_alone()
    for made in ("predictions", "timings"):
        shutil.rmtree(project.folder / grid.results / made)
    project.run(*map(str, shards.values()))
    jobs = project.jobs()
    # Models came along with their times, so no job trains one again.
    assert jobs.keys() == shards.keys()
    for name, predictions in shards.items():
        (job,) = jobs[name]
        assert job["JobState"] == "COMPLETED"
        asked = {
            key: job[key]
            for key in ("TresPerJob", "Partition", "MinMemoryNode", "TimeLimit", "Requeue")
        }
        assert asked == {
            "TresPerJob": "gres:gpu:1",
            "Partition": "cpu",
            "MinMemoryNode": "6000M",
            "TimeLimit": "01:30:00",
            "Requeue": "1",
        }
        assert job["JOB_GRES"] == "gpu:pretended:1"
        assert Path(job["StdOut"]).is_relative_to(project.folder / "results/logs/slurm")
        assert "rule predict" in Path(job["StdOut"]).read_text()
        check_alike(
            pl.read_parquet(project.folder / predictions),
            pl.read_parquet(demo.folder / predictions),
        )
