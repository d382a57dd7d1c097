"""A copy of the project that is run with the SLURM profile, on the SLURM of the tests."""

from __future__ import annotations

from project import Project
from slurm_cluster import SlurmCluster


class SlurmProject(Project):
    """A copy of the project that is run with the SLURM profile, on a cluster without a database of accounts."""

    cluster: SlurmCluster

    def line(self, *arguments: str) -> list[str]:
        profile = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue"]
        polling = ["--slurm-init-seconds-before-status-checks", "1"]
        config = ["--configfile", "config/small.yaml"]
        return [*config, *profile, *polling, *arguments]

    def environment(self) -> dict[str, str]:
        return super().environment() | self.cluster.environment

    def replace(self, path: str, old: str, new: str) -> None:
        """Changes a file."""
        text = (self.folder / path).read_text()
        assert old in text
        (self.folder / path).write_text(text.replace(old, new))

    def ask_for_gpus(self) -> None:
        """Lets jobs ask for GPUs as they do where the device is no CPU, which it is on this machine."""
        for rule in ("capabilities", "predict"):
            of_model = "gpu=lambda wildcards: grid.models[wildcards.model].source.gpus"
            self.replace(f"rules/{rule}.smk", "gpu=models.gpus", of_model)

    def jobs(self) -> dict[str, list[dict[str, str]]]:
        """What SLURM knows of the jobs that were submitted here, in order, by what Snakemake calls them."""
        jobs: dict[str, list[dict[str, str]]] = {}
        for job in self.cluster.jobs().values():
            if job["WorkDir"] == str(self.folder):
                jobs.setdefault(job["Comment"], []).append(job)
        return jobs


def name_of_job(dataset: str, model: str, shard: str) -> str:
    """What Snakemake calls the job that predicts a shard, such as `1-of-2`, of a cell."""
    return "_".join(["rule_predict_wildcards", dataset, model, *shard.split("-of-")])
