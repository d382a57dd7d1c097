"""What Snakemake costs: planning the full grid, a job's imports, and a job through SLURM.

With the path of another checkout's `src` the plan of 100 models x 20 datasets alone is timed, in
turns with its own:

    python benchmarks/overhead.py [--against ../before/src] [--rounds 3]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import yaml
from stopwatch import print_table, seconds_of

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

import needs
from project import Project
from slurm_cluster import SlurmCluster, slurm_cluster

HERE = Path(__file__).parents[1]
FULL_GRID = "config/config.yaml"
SNAKEMAKE = [sys.executable, "-m", "snakemake"]
COMMANDS = {
    "plan of the 15 x 4 grid (`snakemake -n`)": [*SNAKEMAKE, "-n"],
    "plan of the full demo": [*SNAKEMAKE, "-n", "--configfile", "config/demo-full.yaml"],
    "checks of config and word lists": [
        str(Path(sys.executable).parent / "biasgrid"),
        "validate",
        FULL_GRID,
    ],
    "a job's imports: torch and transformers": [
        sys.executable,
        "-c",
        "import biasgrid.inference.models.predict, transformers",
    ],
    "an empty Python": [sys.executable, "-c", ""],
}
# Put behind the rules of a copy, so that its jobs read the same Snakefile and config as real ones.
TRIVIAL_RULE = """

rule trivial:
    output:
        "<results>/trivial/{number}.txt",
    shell:
        "touch {output}"
"""
# As many jobs as the plan of 100 x 20 has, but for a few, with file names alone and two fifths of
# the inputs.
BARE_SNAKEFILE = """
models, datasets = range(100), range(20)

def predictions(wildcards):
    shards = 4 if int(wildcards.dataset) % 2 == 0 else 1
    return [f"predictions/{wildcards.dataset}/{wildcards.model}/{shard}-of-{shards}" for shard in range(1, 1 + shards)]

rule all:
    input: [f"{kind}/{of}/{model}" for of in datasets for model in models for kind in ("measures", "evidence")]
rule expand:
    output: "instances/{dataset}"
    script: "script.py"
rule fetch:
    output: "models/{model}"
    script: "script.py"
rule predict:
    input: "instances/{dataset}", "models/{model}"
    output: "predictions/{dataset}/{model}/{shard}-of-{shards}", "timings/{dataset}/{model}/{shard}-of-{shards}"
    script: "script.py"
rule measure:
    input: "instances/{dataset}", predictions
    output: "sums/{dataset}/{model}", "evidence/{dataset}/{model}", "parts/{dataset}/{model}"
    script: "script.py"
rule statistics:
    input: "sums/{dataset}/{model}"
    output: "measures/{dataset}/{model}", "intervals/{dataset}/{model}", "design/{dataset}/{model}"
    script: "script.py"
"""
# The jobs that read files of all cells: with these there are as many inputs, too.
BARE_TABLES = """
def of_cells(kind):
    return [f"{kind}/{of}/{model}" for of in datasets for model in models]
def of_dataset(kind):
    return lambda wildcards: [f"{kind}/{wildcards.dataset}/{model}" for model in models]
def of_shards(kind):
    shards = [(of, shard, 4 if of % 2 == 0 else 1) for of in datasets for shard in range(1, 5 if of % 2 == 0 else 2)]
    return [f"{kind}/{of}/{model}/{shard}-of-{count}" for of, shard, count in shards for model in models]

rule compare:
    input: of_dataset("sums"), of_dataset("measures"), of_dataset("design")
    output: "comparisons/{dataset}"
    script: "script.py"
rule plot:
    input: of_dataset("measures"), of_dataset("intervals"), of_dataset("design"), of_dataset("parts")
    output: "figures/{dataset}"
    script: "script.py"
rule plot_grid:
    input: of_cells("measures"), of_cells("intervals"), of_cells("design")
    output: "grid"
    script: "script.py"
rule report:
    input: of_cells("measures"), of_cells("evidence"), of_cells("parts")
    output: "report"
    script: "script.py"
rule manifest:
    input:
        "report", "grid", of_cells("measures"), of_shards("predictions"), of_shards("timings"),
        [f"{kind}/{of}" for kind in ("comparisons", "figures") for of in datasets],
    output: "manifest"
    script: "script.py"
rule whole:
    input: of_cells("measures"), of_cells("sums"), "manifest"
"""
LOCAL_JOBS, SLURM_JOBS = 200, 10


def print_starts() -> None:
    rows = []
    for name, command in COMMANDS.items():
        times = [
            seconds_of(lambda: subprocess.run(command, check=True, capture_output=True))
            for _ in range(3)
        ]
        rows.append([name, f"{min(times):.2f}", f"{statistics.median(times):.2f}"])
    print_table(["what", "fastest of 3, s", "median, s"], rows)


def print_jobs() -> None:
    """Prints how many jobs the full grid has with 1, 2, ... shards a cell."""
    config = yaml.safe_load(Path(FULL_GRID).read_text())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for shards in ("as configured", 1, 4, 16):
            if isinstance(shards, int):
                for dataset in config["datasets"].values():
                    dataset["shards"] = shards
            path = Path(folder, "config.yaml")
            path.write_text(yaml.safe_dump(config))
            command = [*SNAKEMAKE, "-n", "--configfile", str(path)]
            plan = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            counts = [
                re.findall(rf"^{name} +(\d+)$", plan, flags=re.MULTILINE)[0]
                for name in ("predict", "total")
            ]
            seconds = seconds_of(lambda: subprocess.run(command, check=True, capture_output=True))
            rows.append([str(shards), *counts, f"{seconds:.2f}"])
    print_table(["shards a cell", "jobs submitted", "jobs in all", "`snakemake -n`, s"], rows)


def print_large(before: str | None, rounds: int) -> None:
    """Prints what the plan of 100 models and 20 datasets takes, those of the full grid under other
    names, and what Snakemake takes for as many jobs that say next to nothing: seconds of the
    processor, in turns.

    Args:
        before: the `src` of a checkout whose plan is timed too.
        rounds: how often each is timed.
    """
    config = yaml.safe_load(Path(FULL_GRID).read_text())
    for section, count, named in (("models", 100, "label"), ("datasets", 20, "title")):
        names = config["run"][section]
        for number, name in enumerate((names * count)[: count - len(names)]):
            entry = config[section][name]
            config[section][f"{name}-{number}"] = entry | {
                named: f"{entry.get(named, name)} {number}"
            }
        config["run"][section] = [*names, *(name for name in config[section] if name not in names)][
            :count
        ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.yaml").write_text(yaml.safe_dump(config | {"results": name}))
        (folder / "bare").write_text(BARE_SNAKEFILE)
        (folder / "inputs").write_text(BARE_SNAKEFILE + BARE_TABLES)
        (folder / "script.py").write_text("pass")
        grid, bare = (
            ["--configfile", str(folder / "config.yaml")],
            ["--directory", name, "--cores", "1"],
        )
        plans = {
            "plan of a 100 x 20 grid (`snakemake -n`)": (grid, str(HERE / "src")),
            "of as many bare jobs, with two fifths of the inputs": (
                [*bare, "--snakefile", str(folder / "bare")],
                "",
            ),
            "with as many inputs": ([*bare, "--snakefile", str(folder / "inputs"), "whole"], ""),
        }
        if before:
            own = [*grid, "--snakefile", str(Path(before).parent / "Snakefile")]
            plans["plan of the grid, before"] = (own, str(Path(before).absolute()))
        taken: dict[str, list[float]] = {plan: [] for plan in plans}
        for plan in [*plans] * rounds:
            arguments, source = plans[plan]
            taken[plan].append(
                processor_seconds_of_command([*SNAKEMAKE, "-n", "-q", *arguments], source)
            )
            print(plan, taken[plan][-1], file=sys.stderr, flush=True)
    least = {plan: min(times) for plan, times in taken.items()}
    bare_seconds = [*least.values()][1]
    rows = [
        [
            plan,
            f"{least[plan]:.2f}",
            f"{statistics.median(times):.2f}",
            f"{least[plan] / bare_seconds:.2f}",
        ]
        for plan, times in taken.items()
    ]
    print_table(
        ["what", f"least of {rounds}, s of the processor", "median", "times the bare"], rows
    )


def processor_seconds_of_command(command: list[str], source: str) -> float:
    """Returns the seconds of the processor that a command takes with a package in a folder."""
    before = os.times()
    # Python keeps what it compiles, as it does where biasgrid is installed.
    environment = os.environ | {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = os.times()
    return (
        after.children_user - before.children_user + after.children_system - before.children_system
    )


def run_trivial(
    project: Project, count: int, way: str, profile: list[str], environment: dict[str, str]
) -> float:
    """Returns the seconds of a run of trivial jobs."""
    targets = [f"results/trivial/{way}-{count}-{number}.txt" for number in range(count)]
    command = [*SNAKEMAKE, "--configfile", FULL_GRID, *profile, *targets]
    environment = project.environment() | environment
    return seconds_of(
        lambda: subprocess.run(
            command, cwd=project.folder, env=environment, check=True, capture_output=True
        )
    )


def seconds_of_jobs(cluster: SlurmCluster, count: int) -> float:
    """Returns how long the last jobs that SLURM ran one after another took together, from its own
    record.
    """
    jobs = list(cluster.jobs().values())[-count:]
    first, last = min(job["StartTime"] for job in jobs), max(job["EndTime"] for job in jobs)
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def print_slurm() -> None:
    """Prints what a job costs that does nothing, here and through a SLURM that runs one job at a
    time.
    """
    if unmet := [need.reason for need in (needs.slurm, needs.root) if not need.is_met()]:
        print(f"SLURM: {'; '.join(unmet)}")
        return
    with tempfile.TemporaryDirectory() as folder:
        project = Project.create(Path(folder, "project"), {})
        with (project.folder / "Snakefile").open("a") as snakefile:
            snakefile.write(TRIVIAL_RULE)
        here = ["--cores", "1"]
        local = [run_trivial(project, count, "local", here, {}) for count in (1, 1 + LOCAL_JOBS)]
        Path(folder, "slurm").mkdir()
        with slurm_cluster(Path(folder, "slurm"), cpus=1) as cluster:
            there = ["--workflow-profile", "profiles/slurm", "--slurm-status-command", "squeue"]
            one = run_trivial(project, 1, "slurm", there, cluster.environment)
            run_trivial(project, SLURM_JOBS, "slurm", there, cluster.environment)
            per_job = seconds_of_jobs(cluster, SLURM_JOBS) / SLURM_JOBS
    each = (local[1] - local[0]) / LOCAL_JOBS
    rows = [
        ["on the machine itself", f"{local[0]:.1f}", f"{each:.2f}", "1.0"],
        ["through SLURM", f"{one:.1f}", f"{per_job:.2f}", f"{per_job / each:.0f}"],
    ]
    print_table(
        ["a job that does nothing", "run of one job, s", "each further job, s", "ratio"], rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", help="`src` of the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not given.against:
        print_starts()
        print_jobs()
    print_large(given.against, given.rounds)
    if not given.against:
        print_slurm()


if __name__ == "__main__":
    main()
