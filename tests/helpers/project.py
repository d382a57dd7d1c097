"""A copy of the project in a folder of its own, with a small grid, run through Snakemake as a user
runs it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from copies import copy_of_snakemake, shared_fork_server
from shared import made_once
from small_tables import check_alike
from typer.testing import CliRunner, Result

from biasgrid.cli.app import app

ROOT = Path(__file__).parents[2]
SMALL = "config/small.yaml"
TRACKED = [
    *(
        "Snakefile",
        "rules",
        "workflow",
        "profiles",
        "envs",
        "word_lists",
        "reference",
        "src",
        "config",
    ),
    "pyproject.toml",
]


class Project:
    """A copy of the project's files; `config` is the small grid's config as a mapping."""

    def __init__(self, folder: Path, file: str = SMALL):
        self.folder, self.file = folder, file
        self.config_path = folder / file

    @classmethod
    def create(cls, folder: Path, config: dict[str, Any], file: str = SMALL) -> Project:
        folder.mkdir(parents=True, exist_ok=True)
        for name in TRACKED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, folder / name)
        project = cls(folder, file)
        project.write_config(config)
        return project

    @classmethod
    def finished(
        cls, factory: pytest.TempPathFactory, name: str, config: dict[str, Any], file: str = SMALL
    ) -> Project:
        """Gives a project that is run to the end once in a session: to be looked at, or cloned and
        then changed.
        """
        return cls(
            made_once(factory, name, lambda folder: cls.create(folder, config, file).run()), file
        )

    def clone(self, folder: Path) -> Project:
        """Copies everything that is there, results and Snakemake's records included, with all
        times.
        """
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Project(folder, self.file)

    def read_config(self) -> dict[str, Any]:
        return yaml.safe_load(self.config_path.read_text())

    def write_config(self, config: dict[str, Any]) -> None:
        self.config_path.write_text(yaml.safe_dump(config, sort_keys=False))

    @property
    def results(self) -> Path:
        """The folder of results that the config names."""
        return self.folder / self.read_config().get("results", "results")

    def line(self, *arguments: str) -> list[str]:
        """The arguments of Snakemake's command line."""
        return ["--configfile", self.file, "--cores", "2", *arguments]

    def environment(self) -> dict[str, str]:
        # The copy's package, not the installed one, so that a test can change its code.
        return os.environ | {"PYTHONPATH": str(self.folder / "src"), "HF_HUB_OFFLINE": "1"}

    def start(
        self, *arguments: str, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", *self.line(*arguments)],
            cwd=self.folder,
            env=self.environment() | (environment or {}),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(
        self, *arguments: str, succeeds: bool = True, environment: dict[str, str] | None = None
    ) -> str:
        """Runs Snakemake and returns all it printed."""
        # With variables of its own a run has its own fork server: a shared one has imported with
        # those of before.
        more = shared_fork_server() if environment is None else environment
        output, ending = copy_of_snakemake(
            self.line(*arguments), self.folder, self.environment() | more
        )
        assert (ending == 0) == succeeds, output
        return output

    def told(self, *arguments: str) -> Result:
        """Runs `biasgrid` in the project's folder, but in this process, which has imported what
        takes longest.
        """
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            result = CliRunner().invoke(app, arguments)
        assert isinstance(result.exception, SystemExit | None), result.exception
        return result

    def make_parts_small(self) -> None:
        """Gives the engine of the copy parts of 24 rows, each of which is written at once."""
        engine = self.folder / "src/biasgrid/inference"
        for path, before, behind in (
            ("engine/settings.py", "\nROWS_A_PART = ", "\nROWS_A_PART = 24  # "),
            ("models/predict.py", "\nSECONDS_A_FILE = ", "\nSECONDS_A_FILE = 0  # "),
        ):
            text = (engine / path).read_text()
            assert before in text
            (engine / path).write_text(text.replace(before, behind))

    def audited(self, *options: str) -> Result:
        """Runs `biasgrid audit` on the results."""
        return self.told("audit", "results", *options)

    def planned(self, *arguments: str) -> dict[str, int]:
        """Returns how many jobs of each rule Snakemake would run now."""
        output = self.run("--dry-run", *arguments)
        if "Nothing to be done" in output:
            return {}
        stats = output.split("Job stats:")[1]
        jobs = dict(re.findall(r"^(\w+) +(\d+)$", stats, flags=re.MULTILINE))
        return {rule: int(count) for rule, count in jobs.items() if rule not in ("all", "total")}

    def tables(self) -> dict[str, pl.DataFrame]:
        """All final tables, by path."""
        results = self.results
        paths = [
            *results.glob("measures/*/*.parquet"),
            *results.glob("evidence*/*/*.parquet"),
            *results.glob("summary.*"),
        ]
        return {str(path.relative_to(results)): read_final(path) for path in sorted(paths)}

    def check_same_tables(self, other: Project) -> None:
        """The final tables are those of another run, but for how models' answers are rounded."""
        ours, theirs = self.tables(), other.tables()
        assert ours.keys() == theirs.keys()
        assert {"summary.parquet", "summary.csv"} < ours.keys()
        for name, table in theirs.items():
            check_alike(ours[name], table)


def read_final(path: Path) -> pl.DataFrame:
    """Reads a final table, which may be there for spreadsheets too."""
    return (
        pl.read_csv(path, infer_schema_length=None)
        if path.suffix == ".csv"
        else pl.read_parquet(path)
    )


OF_EACH_KIND = [
    ("strong-qa", "gender"),
    ("strong-lm", "gender"),
    ("strong-sentiment", "sentiment"),
    ("strong-entailment", "entailment"),
    ("strong-llm", "statements"),
]
"""Cells of the demo: model and dataset."""
