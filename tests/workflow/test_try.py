"""One model, one command, through Snakemake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import yaml

LINE = [sys.executable, "-c", "from biasgrid.cli.app import app; app()", "try"]


def test_a_model_is_measured_in_one_command(small_config: dict[str, Any], tmp_path: Path) -> None:
    folder = small_config["models"]["answering"]["folder"]
    line = [*LINE, folder, "--on", "gender", "--minutes", "0.1"]
    told = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
    stages = [line.partition("s  ")[2] for line in told.stdout.splitlines() if " s  " in line]
    # The model is looked at while the questions are written.
    assert set(stages[:2]) == {"looks at the model", "writes the questions"}
    assert stages[2] == "asks the model"
    assert set(stages[3:]) >= {"measures", "computes intervals", "draws", "writes the report"}
    config = yaml.safe_load((tmp_path / "try-qa.yaml").read_text())
    assert config["run"] == {"models": ["qa"], "datasets": ["gender"]}
    assert "limit" in config["datasets"]["gender"]
    summary = pl.read_parquet(tmp_path / "results/try-qa/summary.parquet")
    assert summary.filter(measure="mu_excess")["low"].is_not_null().all()
    assert (tmp_path / "results/try-qa/report/index.html").exists()
    assert "snakemake --cores all --configfile try-qa.yaml" in told.stdout
