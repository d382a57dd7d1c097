"""The grid through a real SLURM with pretended GPUs: what is submitted, and what becomes of jobs
that are killed.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest
import yaml
from project import ROOT, Project
from slurm_cluster import (
    SlurmCluster,
    SlurmProject,
    has_parts,
    hold_shards,
    log_of,
    name_of_job,
    wait_until,
)
from small_tables import check_alike
from tiny_writers import CHAT_TEMPLATE, save_writer

SUMMARY = "results/summary.csv"
SHARDS = [
    f"{dataset}/{model}/{shard}"
    for model in ("answering", "masked")
    for dataset, shard in (("gender", "1-of-2"), ("gender", "2-of-2"), ("religion", "1-of-1"))
]
# Less than a job needs at its first attempt, and more at its second.
LITTLE_MEMORY = 'mem_mb: 250 * tries("memory", wildcards, attempt) ** 4'


class GenderProject(SlurmProject):
    """Looks at the shards of the cell answering x gender."""

    def attempts(self, shard: str) -> list[dict[str, str]]:
        """The jobs of a shard, in order."""
        return self.jobs()[name_of_job("gender", "answering", shard)]


def visible_gpus(cluster: SlurmCluster, job: dict[str, str]) -> set[str]:
    """What the Python processes of a job see as their GPUs."""
    seen = set()
    for pid in cluster.processes_of(job["JobId"]):
        process = Path("/proc", str(pid))
        if "python" in (process / "exe").resolve().name:
            seen |= set(
                re.findall(r"CUDA_VISIBLE_DEVICES=(\d+)\0", (process / "environ").read_text())
            )
    return seen


def finish(run: subprocess.Popen[str], succeeds: bool) -> str:
    """Waits for a run and returns all it printed."""
    output, _ = run.communicate(timeout=300)
    assert (run.returncode == 0) == succeeds, output
    return output


def test_every_rule_that_asks_or_trains_no_model_runs_where_snakemake_does():
    text = "\n".join(path.read_text() for path in Path("rules").glob("*.smk"))
    rules = dict(re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", text, flags=re.MULTILINE))
    assert {name for name, rule in rules.items() if "    localrule: True\n" not in rule} == {
        "capabilities",
        "predict",
        "train",
    }


@pytest.mark.long
def test_killed_jobs_go_on_from_their_parts(
    cluster: SlurmCluster, finished: Project, small_config: dict[str, Any], tmp_path: Path
):
    config = small_config | {"run": {"models": ["answering"], "datasets": ["gender"]}}
    project = GenderProject.create(tmp_path / "project", config)
    project.ask_for_gpus()
    project.submit_shards_alone()
    hold = hold_shards(project)
    cancelled, requeued = "1-of-2", "2-of-2"

    run = project.start("--retries", "0", SUMMARY)
    wait_until(
        lambda: has_parts(project, cancelled) and has_parts(project, requeued),
        "both shards have made a part",
    )
    (first,), (second,) = project.attempts(cancelled), project.attempts(requeued)
    assert sorted(map(sorted, [visible_gpus(cluster, first), visible_gpus(cluster, second)])) == [
        ["0"],
        ["1"],
    ]

    cluster.run("scancel", first["JobId"])
    cluster.run("scontrol", "requeue", second["JobId"])
    wait_until(
        lambda: project.attempts(requeued)[0]["JobState"] == "PENDING", "the job is queued again"
    )
    hold.unlink()
    # SLURM would start it after two minutes, and the node refuses it in the second in which it was
    # killed.
    cluster.run("scontrol", "update", f"JobId={second['JobId']}", "StartTime=now+3")
    finish(run, succeeds=False)
    assert "rows come from an earlier run" in log_of(project, requeued)
    assert "DUE TO JOB REQUEUE" in Path(second["StdOut"]).read_text()
    assert has_parts(project, cancelled)
    assert not (project.folder / "results/predictions/gender/answering/1-of-2.parquet").exists()

    project.replace(
        "profiles/slurm/profile.yaml",
        'mem_mb: 6000 * tries("memory", wildcards, attempt)',
        LITTLE_MEMORY,
    )
    project.run(SUMMARY)
    _, too_small, larger = project.attempts(cancelled)
    assert (too_small["JobState"], too_small["MinMemoryNode"]) == ("FAILED", "250M")
    assert "memory" in Path(too_small["StdOut"]).read_text()
    assert (larger["JobState"], larger["MinMemoryNode"]) == ("COMPLETED", "4000M")
    assert too_small["TimeLimit"] == larger["TimeLimit"]
    assert "rows come from an earlier run" in log_of(project, cancelled)
    assert len(project.attempts(requeued)) == 1

    measures = "results/measures/gender/answering.parquet"
    check_alike(
        pl.read_parquet(project.folder / measures), pl.read_parquet(finished.folder / measures)
    )


def test_a_server_has_the_gpus_of_its_job_and_ends_with_it(cluster: SlurmCluster, tmp_path: Path):
    checkpoint = save_writer(tmp_path / "writer", "llama", CHAT_TEMPLATE, positions=1024)
    command = f"{sys.executable} {ROOT / 'tests/helpers/model_server.py'} {{port}} {{folder}}"
    model = {"task": "text-generation", "kind": "LLM", "label": "Served", "folder": str(checkpoint)}
    statements = {
        "family": "statement",
        "domains": "statements/domains",
        "templates": "statements/gender.csv",
    }
    config = {
        "results": "results",
        "inference": {"device": "cpu"},
        "models": {"served": {**model, "serve": {"command": command, "gpus": 2, "minutes": 2}}},
        "datasets": {
            "scored": {**statements, "title": "Scored", "sample": {"units": 4}, "sample_by": "rows"}
        },
        "run": {"models": ["served"], "datasets": ["scored"]},
    }
    project = SlurmProject.create(tmp_path / "project", config)
    project.ask_for_gpus()
    project.submit_shards_alone()
    project.run("results/measures/scored/served.parquet")
    jobs = project.jobs()
    asked = [
        job
        for name in (
            "rule_capabilities_wildcards_served",
            name_of_job("scored", "served", "1-of-1"),
        )
        for job in jobs[name]
    ]
    assert [job["JobState"] for job in asked] == ["COMPLETED"] * 2
    assert all("gpu:2" in job["TresPerJob"] or "gpu=2" in job["ReqTRES"] for job in asked)
    for log in (
        "logs/capabilities/served.server.log",
        "logs/predict/scored/served/1-of-1.server.log",
    ):
        assert (project.folder / "results" / log).exists()
    # What has ended but was not waited for has no command line.
    running = [
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    ]
    assert not [command for command in running if str(checkpoint) in command]


# In place of the script that asks a model; one shard fails.
SLEEPING = """
import sys
import time
from pathlib import Path

time.sleep(0.5)
if list(snakemake.wildcards) == ["gender", "answering", "1", "2"] and not Path("mended").exists():
    sys.exit("it fails")
for path in snakemake.output:
    Path(path).write_text("made")
"""


def test_shards_of_a_model_are_submitted_together(
    cluster: SlurmCluster, small_config: dict[str, Any], tmp_path: Path
):
    project = SlurmProject.create(tmp_path / "project", small_config)
    project.ask_for_gpus()
    (project.folder / "workflow/scripts/predict.py").write_text(SLEEPING)
    made = {shard: project.folder / f"results/predictions/{shard}.parquet" for shard in SHARDS}
    shards = [str(path.relative_to(project.folder)) for path in made.values()]
    output = project.run("--retries", "0", *shards, succeeds=False)
    together = project.jobs()
    assert {name: [job["JobState"] for job in jobs] for name, jobs in together.items()} == {
        "rule_shards-of-answering_predict": ["FAILED"],
        "rule_shards-of-masked_predict": ["COMPLETED"],
    }
    # One shard at a time has the GPU and the memory, and each has its own time.
    for (job,) in together.values():
        assert (job["TresPerJob"], job["MinMemoryNode"], job["TimeLimit"]) == (
            "gres:gpu:1",
            "6000M",
            "04:30:00",
        )
    assert "it fails" in output
    log = Path(together["rule_shards-of-answering_predict"][0]["StdOut"]).read_text()
    assert "2 of 3 steps" in log, "the other shards of the model are predicted"
    (project.folder / "mended").touch()
    project.run("--retries", "0", *shards)
    assert all(path.read_text() == "made" for path in made.values())
    assert {name: len(jobs) for name, jobs in project.jobs().items()} == {
        "rule_shards-of-answering_predict": 2,
        "rule_shards-of-masked_predict": 1,
    }


@pytest.mark.long
def test_the_standard_grid_is_at_most_40_submissions(
    cluster: SlurmCluster, small_config: dict[str, Any], tmp_path: Path
):
    """With as many models and shards as config/config.yaml has, and jobs that sleep."""
    standard = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    shards = {name: standard["datasets"][name]["shards"] for name in standard["run"]["datasets"]}
    models = {
        f"{name}": small_config["models"]["answering"] | {"label": name}
        for name in standard["run"]["models"]
    }
    assert len(models) * sum(shards.values()) == 150
    gender = small_config["datasets"]["gender"]
    config = small_config | {
        "models": models,
        "datasets": {
            name: gender | {"title": name, "shards": count} for name, count in shards.items()
        },
        "run": {"models": [*models], "datasets": [*shards]},
    }
    project = SlurmProject.create(tmp_path / "project", config)
    project.ask_for_gpus()
    (project.folder / "workflow/scripts/predict.py").write_text(SLEEPING)
    project.run("--until", "predict")
    assert len([*(project.folder / "results/predictions").rglob("*.parquet")]) == 150
    jobs = [job for jobs in project.jobs().values() for job in jobs]
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert len(jobs) <= 40
