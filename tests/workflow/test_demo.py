"""The demo grid: models with a planted bias, from word lists to the report; what was planted must come out."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import yaml
from project import ROOT, Project
from slurm_cluster import SlurmCluster
from slurm_project import SlurmProject, name_of_job

from biasgrid.config import parse_config
from biasgrid.layout import Layout
from biasgrid.plots.recovery import measured_and_planted, recovery
from biasgrid.table_files import read_table, read_tables
from biasgrid.tables.group_measures import GROUP_MEASURES
from biasgrid.tables.measures import MEASURES, SUMMARY
from biasgrid.tables.planted import PLANTED, PLANTED_GROUPS

LEAST_CORRELATION, SLOPES, LARGEST_UNBIASED_MU = 0.95, (0.8, 1.2), 0.02


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Project:
    config = yaml.safe_load((ROOT / "config/demo.yaml").read_text())
    project = Project.create(tmp_path_factory.mktemp("demo"), config)
    project.run()
    assert project.planned() == {}
    return project


@pytest.fixture(scope="module")
def results(demo: Project) -> Path:
    return demo.folder / "results/demo"


def test_planted_associations_are_measured(results: Path):
    measures = pl.concat(read_table(path, MEASURES) for path in sorted(results.glob("measures/*/*.parquet")))
    planted = read_table(results / "planted/planted.parquet", PLANTED)
    summary = read_table(results / "summary.parquet", SUMMARY)
    strengths = {model: model.split("-")[0] for model in summary["model"].unique()}
    pairs = measured_and_planted(measures, planted, summary, strengths)
    biased = recovery(pairs.filter(pl.col("strength") != "none"), "model", "dataset")
    assert len(biased) == 4 * 4
    assert biased["correlation"].min() > LEAST_CORRELATION
    assert biased["slope"].is_between(*SLOPES).all()


def test_mu_rises_with_the_planted_strength(results: Path):
    summary = read_table(results / "summary.parquet", SUMMARY)
    mu = summary.pivot("label", index=["dataset", "kind"], values="mu")
    assert len(mu) == 8
    assert (mu["none"] < LARGEST_UNBIASED_MU).all()
    assert (mu["none"] < mu["weak"]).all()
    assert (mu["weak"] < mu["strong"]).all()


@pytest.mark.parametrize("dataset", ["sentiment", "entailment"])
def test_planted_group_effects_are_measured(results: Path, dataset: str):
    planted = read_table(results / f"planted_cases/{dataset}/planted.parquet", PLANTED_GROUPS)
    measures = read_tables(results.glob(f"group_measures/{dataset}/*.parquet"), GROUP_MEASURES)
    of_groups = measures.filter(
        pl.col("group").is_not_null(),
        pl.all_horizontal(pl.col("distance", "template", "argument").is_null()),
        score="mean_class_probability",
    )
    effects = of_groups.with_columns(strength=pl.col("model").str.split("-").list.first()).join(
        planted, on=["strength", "dataset", "bias_type", "group"]
    )
    unbiased = effects.filter(strength="none")
    assert (unbiased["value"].max() - unbiased["value"].min()) < LARGEST_UNBIASED_MU
    biased = (
        effects.filter(strength="strong")
        .group_by("bias_type")
        .agg(
            correlation=pl.corr("value", "probability"),
            slope=pl.cov("value", "probability") / pl.col("probability").var(),
        )
    )
    assert len(biased) == {"sentiment": 2, "entailment": 1}[dataset]
    assert biased["correlation"].min() > LEAST_CORRELATION
    assert biased["slope"].is_between(*SLOPES).all()


def test_the_report_is_one_offline_page_with_what_was_planted(results: Path):
    page = (results / "report/index.html").read_text()
    assert "Content warning" in page
    assert 'src="http' not in page
    assert "strong-lm" in page
    assert "Planted and measured" in page


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_shows_the_report_with_all_its_figures(results: Path, tmp_path: Path):
    page = tmp_path / "index.html"
    check = (
        "<script>onload = () => document.title = [...document.images].filter(i => i.naturalWidth > 100).length</script>"
    )
    page.write_text((results / "report/index.html").read_text() + check)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
    options += ["--disable-component-update", "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}"]
    command = ["chromium", *options, "--virtual-time-budget=20000", "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    figures = len(list(results.glob("plots/**/*.svg")))
    assert f"<title>{figures}</title>" in shown


def test_slurm_jobs_with_a_gpu_predict_every_cell_alike(demo: Project, cluster: SlurmCluster, tmp_path: Path):
    grid = parse_config(demo.read_config(), "config/small.yaml")
    shards = {
        name_of_job(dataset, model, shard.predictions.stem): shard.predictions
        for model, dataset in grid.cells()
        for shard in Layout(grid).shards(dataset, model)
    }
    project = SlurmProject(demo.clone(tmp_path / "project").folder)
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
