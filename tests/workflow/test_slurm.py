"""The grid through a real SLURM with pretended GPUs: what is submitted, and what becomes of jobs that are killed."""

import re
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal
from project import Project
from slurm_cluster import SlurmCluster, wait_until
from slurm_project import SlurmProject, name_of_job

from biasgrid.jobs.progress import read_beat

SUMMARY = "results/summary.csv"
# Put at the end of a copy's engine: small parts, and whoever has made one waits as long as there is a file `hold`.
HOLD = """
import time

PART_ROWS = 20


def held(self, answers, slices=Shard.slices):
    for number, part in enumerate(slices(self, answers)):
        while number and Path("hold").exists():
            time.sleep(0.05)
        yield part


Shard.slices = held
"""
# Less than a job needs at its first attempt, and more at its second.
LITTLE_MEMORY = "mem_mb: 250 * attempt ** 4"


class GenderProject(SlurmProject):
    """Looks at the shards of the cell answering x gender."""

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.folder / path).read_text()
        assert old in text
        (self.folder / path).write_text(text.replace(old, new))

    def attempts(self, shard: str) -> list[dict[str, str]]:
        """The jobs of a shard, in order."""
        return self.jobs()[name_of_job("gender", "answering", shard)]

    def parts(self, shard: str) -> bool:
        """Whether a shard that is not done has made a part."""
        beat = read_beat(self.folder / f"results/.answers/gender/answering/{shard}.json")
        return beat is not None and beat.kept > 0

    def log(self, shard: str) -> str:
        return (self.folder / f"results/logs/predict/gender/answering/{shard}.log").read_text()


def visible_gpus(cluster: SlurmCluster, job: dict[str, str]) -> set[str]:
    """What the Python processes of a job see as their GPUs."""
    seen = set()
    for pid in cluster.processes_of(job["JobId"]):
        process = Path("/proc", str(pid))
        if "python" in (process / "exe").resolve().name:
            seen |= set(re.findall(r"CUDA_VISIBLE_DEVICES=(\d+)\0", (process / "environ").read_text()))
    return seen


def finish(run: subprocess.Popen[str], succeeds: bool) -> str:
    """Waits for a run and returns all it printed."""
    output, _ = run.communicate(timeout=300)
    assert (run.returncode == 0) == succeeds, output
    return output


def test_every_rule_but_inference_and_training_runs_where_snakemake_does():
    text = "\n".join(path.read_text() for path in Path("rules").glob("*.smk"))
    rules = dict(re.findall(r"^rule (\w+):\n((?:    .*\n|\n)+)", text, flags=re.MULTILINE))
    assert {name for name, rule in rules.items() if "    localrule: True\n" not in rule} == {"predict", "train"}


def test_killed_jobs_go_on_from_their_parts(
    cluster: SlurmCluster, finished: Project, small_config: dict[str, Any], tmp_path: Path
):
    config = small_config | {"run": {"models": ["answering"], "datasets": ["gender"]}}
    project = GenderProject.create(tmp_path / "project", config)
    with (project.folder / "src/biasgrid/models/predict.py").open("a") as engine:
        engine.write(HOLD)
    hold = project.folder / "hold"
    hold.touch()
    cancelled, requeued = "1-of-2", "2-of-2"

    run = project.start("--retries", "0", SUMMARY)
    wait_until(lambda: project.parts(cancelled) and project.parts(requeued), "both shards have made a part")
    (first,), (second,) = project.attempts(cancelled), project.attempts(requeued)
    assert sorted(map(sorted, [visible_gpus(cluster, first), visible_gpus(cluster, second)])) == [["0"], ["1"]]

    cluster.run("scancel", first["JobId"])
    cluster.run("scontrol", "requeue", second["JobId"])
    wait_until(lambda: project.attempts(requeued)[0]["JobState"] == "PENDING", "the job is queued again")
    hold.unlink()
    # SLURM would start it after two minutes, and the node refuses it in the second in which it was killed.
    cluster.run("scontrol", "update", f"JobId={second['JobId']}", "StartTime=now+3")
    finish(run, succeeds=False)
    assert "rows are there from an earlier run" in project.log(requeued)
    assert "DUE TO JOB REQUEUE" in Path(second["StdOut"]).read_text()
    assert project.parts(cancelled)
    assert not (project.folder / "results/predictions/gender/answering/1-of-2.parquet").exists()

    project.replace("profiles/slurm/profile.yaml", "mem_mb: 6000 * attempt", LITTLE_MEMORY)
    project.run(SUMMARY)
    _, too_small, larger = project.attempts(cancelled)
    assert (too_small["JobState"], too_small["MinMemoryNode"]) == ("FAILED", "250M")
    assert "memory" in Path(too_small["StdOut"]).read_text()
    assert (larger["JobState"], larger["MinMemoryNode"]) == ("COMPLETED", "4000M")
    assert "rows are there from an earlier run" in project.log(cancelled)
    assert len(project.attempts(requeued)) == 1

    measures = "results/measures/gender/answering.parquet"
    assert_frame_equal(pl.read_parquet(project.folder / measures), pl.read_parquet(finished.folder / measures))
