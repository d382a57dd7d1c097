"""The workflow as a module of a user's own, as `snakedeploy` writes it, and from other folders than
its own.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from copies import copy_of_snakemake, shared_fork_server
from project import ROOT, Project

SNAKEFILE = f'"{ROOT / "workflow/Snakefile"}"'
DEPLOYED = """
configfile: "config/config.yaml"

module biasgrid:
    snakefile:
        {snakefile}
    config:
        {config}
    {more}

{before}
use rule * from biasgrid{names}
"""
"""What snakedeploy 0.17 writes as `workflow/Snakefile`, and what a user adds to it."""


class Deployed(Project):
    """A user's folder: a config, and a Snakefile with this workflow as a module. Neither word lists
    nor rules.
    """

    @classmethod
    def of(cls, folder: Path, config: dict[str, Any], /, **parts: str) -> Deployed:
        project = cls(folder, "config/config.yaml")
        for name in ("config", "workflow"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        project.write_config(config)
        given = {
            "snakefile": SNAKEFILE,
            "config": "config",
            "more": "",
            "before": "",
            "names": "",
        } | parts
        (folder / "workflow/Snakefile").write_text(DEPLOYED.format(**given))
        return project

    def line(self, *arguments: str) -> list[str]:
        return ["--cores", "2", *arguments]

    def run(
        self, *arguments: str, succeeds: bool = True, environment: dict[str, str] | None = None
    ) -> str:
        # The package is the installed one: a user has no other.
        ours = {"HF_HUB_OFFLINE": "1"} | (
            shared_fork_server() if environment is None else environment
        )
        output, ending = copy_of_snakemake(self.line(*arguments), self.folder, os.environ | ours)
        assert (ending == 0) == succeeds, output
        return output


@pytest.fixture(scope="session")
def jobs(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The jobs of the small grid, by rule, run from the workflow's own folder."""
    return Project.create(tmp_path_factory.mktemp("plain") / "project", small_config).planned()


def test_a_grid_runs_as_a_module_to_the_same_numbers(
    finished: Project, small_config: dict[str, Any], tmp_path: Path
):
    user = Deployed.of(tmp_path / "user", small_config)
    user.run()
    user.check_same_tables(finished)
    results = user.folder / "results"
    assert (results / "report/index.html").exists()
    assert (
        json.loads((results / "manifest.json").read_text())["config_file"] == "config/config.yaml"
    )
    assert sorted(path.name for path in user.folder.iterdir()) == [
        ".snakemake",
        "config",
        "results",
        "workflow",
    ]
    # Whatever profile there is: with Snakemake's own triggers nothing runs again either.
    assert user.planned() == {}
    # What is done around a run is done: the results are known to be of this config, and refused to
    # another one.
    user.config_path.rename(user.folder / "config/other.yaml")
    refused = user.run("--configfile", "config/other.yaml", "--forcerun", "summary", succeeds=False)
    assert "made with config/config.yaml, but this run uses config/other.yaml" in refused


def test_a_failed_run_as_a_module_says_what_is_missing(
    small_config: dict[str, Any], tmp_path: Path
):
    own = """
rule first:
    output: "own/answer.txt"
    shell: "mkdir -p own; touch {output}; exit 3"

onerror: print("MINE FAILED")
"""
    broken = (
        "\n\nuse rule expand from biasgrid as expand with:\n    params: family='biasgrid.nowhere'"
    )
    later = "\n\nonstart:\n    biasgrid.onstart()\n    print('MINE STARTS')"
    user = Deployed.of(tmp_path / "user", small_config, before=own, names=broken + later)
    table, manifest = (
        "results/instances/religion/qa.parquet",
        user.folder / "results/manifest.failed.json",
    )
    output = user.run(table, "own/answer.txt", "--keep-going", succeeds=False)
    assert "MINE STARTS" in output
    assert "MINE FAILED" in output
    assert (user.folder / "results/.made_with.json").exists()
    # A user's own rules are no part of the results: where they alone fail, the grid has not.
    failed = json.loads(manifest.read_text())
    assert [failure["rule"] for failure in failed["failures"]] == ["expand"]
    assert failed["missing"] == ["instances/religion/qa.parquet"]
    user.run("own/answer.txt", succeeds=False)
    assert not manifest.exists()


def test_what_is_planned_does_not_depend_on_where_the_workflow_is(
    small_config: dict[str, Any], tmp_path: Path, jobs: dict[str, int]
):
    assert Deployed.of(tmp_path / "user", small_config).planned() == jobs


def test_a_module_of_a_repository_that_is_read_file_by_file(
    small_config: dict[str, Any], tmp_path: Path, jobs: dict[str, int]
):
    repository = Project.create(tmp_path / "repository", small_config).folder
    git = ["git", "-C", str(repository), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for arguments in (
        ["init", "--quiet"],
        ["add", "Snakefile", "rules", "workflow", "envs"],
        ["commit", "-qm", "all"],
    ):
        subprocess.run([*git, *arguments], check=True)
    # Where Snakemake keeps what it has cloned: of a commit that is there it asks no server.
    cache = tmp_path / "cache"
    kept = (
        cache / "snakemake/snakemake/source-cache/snakemake-git-cache/github.com/somebody/biasgrid"
    )
    subprocess.run(["git", "clone", "--quiet", "--bare", str(repository), str(kept)], check=True)
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()
    snakefile = f'github("somebody/biasgrid", path="workflow/Snakefile", commit="{commit}")'
    user = Deployed.of(tmp_path / "user", small_config, snakefile=snakefile)
    environment = shared_fork_server() | {"XDG_CACHE_HOME": str(cache)}
    table = "results/instances/religion/qa.parquet"
    assert table in user.run("--dry-run", environment=environment)
    user.run(table, environment=environment)
    assert (user.folder / table).exists()


def test_rules_with_other_names_work_with_the_rules_of_a_user(
    small_config: dict[str, Any], tmp_path: Path, jobs: dict[str, int]
):
    own = """
rule mine:
    input: "results/manifest.json"
    output: "mine.txt"
    shell: "touch {output}"
"""
    changed = " as bias_*\n\nuse rule predict from biasgrid as bias_predict with:\n    priority: 7"
    config = {"biasgrid": small_config, "mine": 1}
    parts = {"config": 'config["biasgrid"]', "before": own, "names": changed}
    user = Deployed.of(tmp_path / "user", config, **parts)
    # The first rule is the user's, and stays the default target.
    assert user.planned() == {f"bias_{rule}": count for rule, count in jobs.items()} | {"mine": 1}
    small_config = small_config | {"run": small_config["run"] | {"models": ["maskd"]}}
    user.write_config(config | {"biasgrid": small_config})
    told = user.run("--dry-run", succeeds=False)
    # Lines of the file are not those of a part of it.
    assert "config/config.yaml, run.models" in told
    assert "did you mean 'masked'?" in told


def test_two_grids_in_one_workflow(
    small_config: dict[str, Any], tmp_path: Path, jobs: dict[str, int]
):
    parts = {"config": 'config["one"]', "names": " as one_*"}
    grids = {name: small_config | {"results": f"results/{name}"} for name in ("one", "two")}
    user = Deployed.of(tmp_path / "user", grids, **parts)
    with (user.folder / "workflow/Snakefile").open("a") as file:
        file.write(f"module other:\n    snakefile: {SNAKEFILE}\n    config: config['two']\n")
        file.write("use rule * from other as two_*\n")
    expected = {
        f"{grid}_{rule}": count for grid in grids for rule, count in {**jobs, "all": 1}.items()
    }
    assert user.planned("one_all", "two_all") == expected


def test_a_module_with_a_prefix_is_refused(small_config: dict[str, Any], tmp_path: Path):
    user = Deployed.of(tmp_path / "user", small_config, more='prefix: "bias"')
    told = user.run("--dry-run", succeeds=False)
    assert (
        "the module's `prefix` or `replace_prefix` turns results into bias/results; expected "
        "a module"
    ) in told
    assert "Traceback" not in told


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_from_a_folder_with_nothing_but_a_config(
    small_config: dict[str, Any], tmp_path: Path, jobs: dict[str, int], snakefile: str
):
    user = Deployed.of(tmp_path / "user", small_config)
    assert user.planned("--snakefile", str(ROOT / snakefile)) == jobs
    away = Deployed(tmp_path, "user/config/config.yaml")
    assert away.planned("--snakefile", str(ROOT / snakefile), "--directory", "user") == jobs
    named = (
        "--snakefile",
        str(ROOT / snakefile),
        "--directory",
        "elsewhere",
        "--configfile",
        away.file,
    )
    assert away.planned(*named) == jobs
