"""The demo grid: models with a synthetic bias, from word lists to the report; the known effect must come out."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from demo_cells import OF_EACH_KIND
from kept_measures import can_be_compared, differing
from project import ROOT, Project
from slurm_cluster import SlurmCluster
from slurm_project import SlurmProject, name_of_job
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.cli.commands.summary import print_findings
from biasgrid.config import parse_config
from biasgrid.runs.layout import Layout
from biasgrid.stats.recovery import measured_and_synthetic, recovery
from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.files import read_table, read_tables
from biasgrid.tables.measures import MEASURE_KEYS, MEASURES, SUMMARY, SYNTHETIC
from biasgrid.tables.schema import answer_schema

OF_QUESTIONS = ["gender", "nationality", "ethnicity", "religion"]
LEAST_CORRELATION, SLOPES, LARGEST_UNBIASED_MU = 0.95, (0.8, 1.2), 0.02
LARGEST_UNBIASED_BIAS, LARGEST_ERROR_OF_ITEMS = 0.03, 0.1


def test_a_second_run_does_nothing(demo: Project):
    assert demo.planned() == {}


def test_it_ends_with_a_sentence_for_each_model(demo: Project, results: Path, capsys: pytest.CaptureFixture[str]):
    print_findings(results)
    _, found = capsys.readouterr().out.split("Found:\n")
    *sentences, report = found.splitlines()
    models = {sentence.partition(":")[0].strip() for sentence in sentences if sentence.startswith("  ")}
    assert models == set(demo.read_config()["run"]["models"])
    assert report == f"Report: {results / 'report/index.html'}"


def test_its_measures_are_the_kept_ones(results: Path):
    if not can_be_compared(results):
        pytest.skip("another processor or torch trains other models")
    measures = read_tables(results.glob("measures/*/*.parquet"), MEASURES)
    keys = ["model", "dataset", "measure", "options", *MEASURE_KEYS]
    assert differing(measures, keys, 1e-12).to_dicts() == []


def test_what_is_synthetic_is_the_kept(results: Path):
    synthetic = read_tables(results.glob("synthetic/*/synthetic.parquet"), SYNTHETIC)
    keys = ["strength", "dataset", "measure", "options", *MEASURE_KEYS]
    assert differing(synthetic, keys, 1e-12).to_dicts() == []


def test_the_kept_reference_is_of_this_demo(demo: Project, results: Path, tmp_path: Path):
    models = [f"--model={model}" for model in demo.read_config()["run"]["models"]]
    runner = CliRunner()
    made = runner.invoke(app, ["reference", "add", str(results), *models, "--name", "demo", "--folder", str(tmp_path)])
    assert made.exit_code == 0, made.output
    of_run, kept = (json.loads((folder / "demo.json").read_text()) for folder in (tmp_path, ROOT / "reference"))
    asked = ("dataset", "kind", "label", "asked", "scoring")
    cells = [[{key: cell[key] for key in asked} for cell in file["cells"]] for file in (of_run, kept)]
    assert cells[0] == cells[1]
    if can_be_compared(results):
        assert of_run["figures"] == kept["figures"]


@pytest.fixture(scope="session")
def pairs(results: Path) -> pl.DataFrame:
    """What was measured beside the known effect; a model's name begins with the strength that it learned."""
    measures = read_tables(results.glob("measures/*/*.parquet"), MEASURES)
    synthetic = read_tables(results.glob("synthetic/*/synthetic.parquet"), SYNTHETIC)
    cells = measures.select("dataset", "model").unique().iter_rows()
    strengths: dict[str, dict[str, str]] = {}
    for dataset, model in cells:
        strengths.setdefault(dataset, {})[model] = model.split("-")[0]
    # Of a placebo nothing is put in, whatever the strength.
    return measured_and_synthetic(measures, synthetic, strengths).filter(pl.col("dataset") != "placebo")


def test_models_of_unlike_strength_are_told_apart_and_those_without_bias_are_not(results: Path):
    rows = read_table(results / "comparisons/gender.parquet", COMPARISONS)
    associations = rows.filter(measure="gamma").drop_nulls(["subject", "attribute"])
    pairs = associations.group_by("model", "other_model")
    found = {pair: (part["q"] <= 0.05).sum() for pair, part in pairs}
    for kind in ("qa", "lm"):
        assert found[f"weak-{kind}", f"strong-{kind}"] >= 0.9 * 48
        assert found[f"none-{kind}", f"weak-{kind}"] >= 0.9 * 48
    assert found["none-qa", "none-lm"] == 0
    refused = rows.filter(model="none-qa", other_model="none-llm")["reason"].unique().to_list()
    assert refused == ["scored in different ways: exact and logits"]


def test_synthetic_associations_are_measured(pairs: pl.DataFrame):
    of_subjects = pairs.filter(pl.col("strength") != "none", pl.col("subject").is_not_null(), measure="gamma")
    biased = recovery(of_subjects, "model", "dataset")
    # Of LM and QA two models each, weak and strong; of LLM one.
    assert len(biased) == (2 + 2 + 1) * 4
    assert biased["correlation"].min() > LEAST_CORRELATION
    assert biased["slope"].is_between(*SLOPES).all()


def test_names_that_no_tokenizer_knows_are_not_measurable(results: Path):
    """The one dataset of the demo in which nothing is measured, and it alone."""
    summary = read_table(results / "summary.parquet", SUMMARY)
    withheld = summary.filter(pl.col("headline"), pl.col("flag").str.starts_with("not measurable"))
    assert withheld["value"].null_count() == len(withheld)
    assert set(withheld.select("model", "dataset").rows()) == {
        ("none-sentiment", "nicknames"),
        ("strong-sentiment", "nicknames"),
    }
    reason = "not measurable: 100% of the instances have text that the tokenizer does not know, or splits into letters"
    assert set(withheld["flag"]) == {reason}
    page = (results / "report/index.html").read_text()
    assert "Unknown nicknames: 100% of the instances have text" in page
    assert "use words that the tokenizer knows" in page


def test_mu_rises_with_the_synthetic_strength(results: Path):
    summary = read_table(results / "summary.parquet", SUMMARY).filter(pl.col("dataset") != "placebo", measure="mu")
    mu = summary.pivot("label", index=["dataset", "kind"], values="value")
    assert len(mu) == 3 * 4
    # There is no weak LLM.
    assert mu["weak"].null_count() == 4
    assert (mu["none"] < mu["strong"]).all()
    assert (mu["none"] < LARGEST_UNBIASED_MU).all()
    assert (mu["none"] < mu["weak"]).all()
    assert (mu["weak"] < mu["strong"]).all()


def test_what_is_synthetic_is_discovered_and_nothing_else(results: Path):
    rows = read_tables(results.glob("measures/*/*.parquet"), MEASURES).filter(pl.col("dataset").is_in(OF_QUESTIONS))
    tests = rows.filter(measure="gamma").drop_nulls(["subject", "attribute", "q"])
    tests = tests.with_columns(strength=pl.col("model").str.extract(r"(\w+)-"), found=pl.col("q") <= 0.05)
    shares = dict(tests.group_by("strength").agg(pl.col("found").mean()).iter_rows())
    assert shares["none"] == 0
    assert shares["weak"] > 0.9
    assert shares["strong"] == 1
    for model, p in rows.filter(measure="mu").select("model", "p").iter_rows():
        assert (p > 0.05) == model.startswith("none"), model


def test_groups_are_told_apart_where_they_were_taught_and_nowhere_else(results: Path):
    """Claims about a group of names, over clusters of templates and names."""
    rows = read_tables(results.glob("measures/gender/*.parquet"), MEASURES)
    groups = rows.filter(measure="share_gamma").drop_nulls(["subject_group", "attribute"])
    assert set(groups["generalises_to"]) == {"clusters x names"}
    strengths = groups.with_columns(strength=pl.col("model").str.extract(r"(\w+)-"))
    found = dict(strengths.group_by("strength").agg((pl.col("q") <= 0.05).mean()).iter_rows())
    assert found == {"none": 0, "weak": 1, "strong": 1}


def test_of_a_placebo_nothing_is_significant(results: Path):
    rows = read_tables(results.glob("measures/placebo/*.parquet"), MEASURES)
    tests = rows.filter(measure="gamma").drop_nulls(["subject", "attribute", "q"])
    assert len(tests) == (3 + 3 + 2) * 48
    assert tests["q"].min() > 0.05


@pytest.mark.parametrize("dataset", OF_QUESTIONS)
def test_every_number_of_questions_has_an_interval(results: Path, dataset: str):
    rows = read_tables(results.glob(f"measures/{dataset}/*.parquet"), MEASURES)
    headline = rows.filter(pl.col("measure").is_in(["mu_corrected", "strength"]))
    assert headline["clusters"].to_list() == [4] * 2 * (3 + 3 + 2)
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
    # Of twelve items, which the strong model has not learned to the end; its interval holds what was put in.
    assert rates["measured"].to_numpy() == pytest.approx(rates["synthetic"].to_numpy(), abs=LARGEST_ERROR_OF_ITEMS)
    unkind = pairs.filter(dataset="talk", measure="mean_score")
    assert len(unkind) == 2 * 3
    # The scores are of answers that are drawn: 100 of each group, with 0.6 of an unkind one.
    assert unkind["measured"].to_numpy() == pytest.approx(unkind["synthetic"].to_numpy(), abs=3 * 0.6 * 0.05)


def test_generative_models_say_what_they_are_asked_for(results: Path):
    """Letters, and Yes or No, have all of the probability: whatever else they could say is never right."""
    scored = [path for path in results.glob("predictions/*/*-llm/*.parquet") if "talk" not in path.parts]
    answers = read_tables(scored, answer_schema("choice"))
    assert len(answers) == 2 * (3072 + 1536 + 3 * 288 + 88 + 24)
    assert answers["mass"].min() > 0.98
    assert answers["unknown"].sum() == 0


def test_figures_of_the_grid_name_no_cell_that_they_would_not_draw(results: Path) -> None:
    # The tokenizer of a classifier does not know nicknames, of which the figures of mu and eta show nothing.
    left_out = {path.stem for path in results.glob("plots/grid/*.svg") if "Left out" in path.read_text()}
    assert left_out == {"convergence", "synthetic"}


@pytest.mark.parametrize(
    "cells",
    [OF_EACH_KIND, pytest.param(None, marks=pytest.mark.long)],
    ids=["a model of each kind", "the whole grid"],
)
def test_slurm_jobs_with_a_gpu_predict_cells_alike(
    demo: Project, cluster: SlurmCluster, tmp_path: Path, cells: list[tuple[str, str]] | None
):
    grid = parse_config(demo.read_config(), "config/small.yaml")
    shards = {
        name_of_job(dataset, model, shard.predictions.stem): shard.predictions
        for model, dataset in cells or grid.cells()
        for shard in Layout(grid).shards(dataset, model)
    }
    project = SlurmProject(demo.clone(tmp_path / "project").folder)
    project.ask_for_gpus()
    for made in ("predictions", "timings"):
        shutil.rmtree(project.folder / grid.results / made)
    project.run(*map(str, shards.values()))
    jobs = project.jobs()
    # Models came along with their times, so no job trains one again.
    assert jobs.keys() == shards.keys()
    for name, predictions in shards.items():
        (job,) = jobs[name]
        assert job["JobState"] == "COMPLETED"
        asked = {key: job[key] for key in ("TresPerJob", "Partition", "MinMemoryNode", "TimeLimit", "Requeue")}
        assert asked == {
            "TresPerJob": "gres:gpu:1",
            "Partition": "gpu",
            "MinMemoryNode": "6000M",
            "TimeLimit": "04:00:00",
            "Requeue": "1",
        }
        assert job["JOB_GRES"] == "gpu:pretended:1"
        assert Path(job["StdOut"]).is_relative_to(project.folder / "results/logs/slurm")
        assert "rule predict" in Path(job["StdOut"]).read_text()
        assert (project.folder / predictions).read_bytes() == (demo.folder / predictions).read_bytes(), name
