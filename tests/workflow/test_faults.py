"""What goes wrong on a weekend: damaged files, disks, models and clocks; what a user then reads,
and how it goes on.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from disks import DAMAGES, mounted, truncate
from project import Project

from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.schema import answer_schema

TARGET = "results/summary.csv"
FULL = "cannot be written, because the disk is full; free some space and run again"
INSTANCES = "instances/gender/qa.parquet"
PREDICTIONS = "predictions/religion/answering/1-of-1.parquet"
SUMS = "sums/religion/masked.parquet"
MEASURES = "measures/religion/masked.parquet"


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """The finished grid."""
    return finished.clone(tmp_path / "project")


@pytest.fixture
def one_cell(small_config: dict[str, Any], tmp_path: Path) -> Project:
    """A cell that has not been run."""
    return Project.create(
        tmp_path / "project",
        small_config | {"run": {"models": ["answering"], "datasets": ["religion"]}},
    )


def remove(project: Project, *names: str) -> None:
    for name in names:
        path = project.folder / "results" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def edit_config(project: Project, section: str, **changes: Any) -> None:
    config = project.read_config()
    config[section] = config.get(section, {}) | changes
    project.write_config(config)


@pytest.fixture
def small_disk(finished: Project, tmp_path: Path) -> Iterator[Project]:
    """The finished grid, with its results on a small disk of their own."""
    results = tmp_path / "project" / "results"
    with mounted(results, "-t", "tmpfs", "-o", "size=32m", "tmpfs"):
        yield finished.clone(tmp_path / "project")


def fill(folder: Path) -> Path:
    """Fills a disk to the last byte; returns the file that does it."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return ballast


# Damaged and foreign files
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
@pytest.mark.parametrize(
    "names",
    [
        (INSTANCES, PREDICTIONS),
        *(pytest.param((name,), marks=pytest.mark.long) for name in (SUMS, MEASURES)),
    ],
)
def test_a_file_that_is_damaged_or_not_ours_is_named_and_not_used(
    project: Project,
    finished: Project,
    damage: Callable[[Path], None],
    message: str,
    names: tuple[str, ...],
):
    results = project.folder / "results"
    for name in names:
        damage(results / name)
    output = project.run(TARGET, succeeds=False)
    for name in names:
        assert re.search(rf"results/{name}: {message}.*; remove it and run again", output)
    assert "Traceback" not in output
    # Where the job that makes it has not begun, the summary is the one of before; else there is
    # none.
    if (results / "summary.csv").exists():
        assert (results / "summary.csv").read_bytes() == (
            finished.folder / "results/summary.csv"
        ).read_bytes()


def test_removing_a_damaged_file_mends_the_run(project: Project, finished: Project):
    truncate(project.folder / "results" / PREDICTIONS)
    project.run(TARGET, succeeds=False)
    remove(project, PREDICTIONS)
    project.run()
    project.check_same_tables(finished)


def test_a_cell_that_lacks_predictions_is_not_reported(project: Project):
    path = project.folder / "results" / PREDICTIONS
    table, facts = read_table(path, answer_schema("span")), read_provenance(path)
    write_table(table.head(-3), path, answer_schema("span"), facts)
    reported = ["summary.csv", "summary.parquet", "report/index.html"]
    remove(project, *reported)
    output = project.run(succeeds=False)
    assert f"answering on religion: of {len(table)} instances, 3 have no prediction" in output
    assert "Traceback" not in output
    assert not any((project.folder / "results" / name).exists() for name in reported)


# Disks
# --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("removed", "named"),
    [
        (
            "predictions/gender/answering/1-of-2.parquet",
            r"(\.answers|predictions)/gender/answering/\S+(parquet|keys)",
        ),
        ("plots/gender", r"plots/gender/\w+.(svg|png)"),
        *(
            pytest.param(removed, named, marks=pytest.mark.long)
            for removed, named in {
                "models/spare.json": "models/spare.json",
                "sums/religion/answering.parquet": r"(sums|evidence|evidence_parts)/religion/answering.parquet",
                "measures/religion/answering.parquet": r"(measures|intervals|design)/religion/answering.parquet",
                "summary.csv": r"summary.(csv|parquet)",
                "report/index.html": "report/index.html",
            }.items()
        ),
    ],
)
def test_a_full_disk_is_named_and_leaves_no_half_file(
    small_disk: Project, finished: Project, removed: str, named: str
):
    results = small_disk.folder / "results"
    remove(small_disk, removed)
    ballast = fill(results)
    output = small_disk.run(f"results/{removed}", succeeds=False)
    assert re.search(f"results/{named}: {FULL}", output)
    assert "Traceback" not in output
    assert not (results / removed).exists()
    # Snakemake marks folders that rules have made.
    hidden = [
        path.name
        for path in results.rglob(".*")
        if path.is_file() and path.name != ".snakemake_timestamp"
    ]
    assert sorted(hidden) == [".lock", ".made_with.json"]
    ballast.unlink()
    small_disk.run(f"results/{removed}", TARGET)
    small_disk.check_same_tables(finished)


def test_a_read_only_folder_of_results_is_named_before_any_work(one_cell: Project):
    with mounted(one_cell.folder / "results", "-t", "tmpfs", "-o", "ro", "tmpfs"):
        output = one_cell.run(TARGET, succeeds=False)
    assert (
        "results: cannot be written to (Read-only file system); make it writable, or set `results`"
        in output
    )
    assert "Traceback" not in output
    assert "rule " not in output


def test_a_read_only_project_is_named_before_any_work(one_cell: Project):
    with mounted(one_cell.folder, "--bind", "-o", "ro", str(one_cell.folder)):
        output = one_cell.run(TARGET, succeeds=False)
    assert (
        f"{one_cell.folder}/.snakemake: cannot be written to; Snakemake keeps its records there"
        in output
    )
    assert "Traceback" not in output


# Models
# -------------------------------------------------------------------------------------------------------------


def test_weights_that_are_no_numbers_are_refused_with_the_model_and_an_instance(one_cell: Project):
    from transformers import AutoModelForQuestionAnswering

    config = one_cell.read_config()
    folder = one_cell.folder / "broken"
    shutil.copytree(config["models"]["answering"]["folder"], folder)
    model = AutoModelForQuestionAnswering.from_pretrained(folder)
    model.qa_outputs.weight.data[0, 0] = float("nan")
    model.save_pretrained(folder)
    config["models"]["answering"]["folder"] = "broken"
    one_cell.write_config(config)
    output = one_cell.run(TARGET, succeeds=False)
    assert re.search(
        r"model answering returned non-finite scores on instance \d+; expected probabilities",
        output,
    )
    assert "Traceback" not in output
    assert not (one_cell.folder / "results/summary.csv").exists()


def test_an_instance_that_is_longer_than_the_models_positions_is_refused_with_both_numbers(
    one_cell: Project,
):
    (one_cell.folder / "word_lists/long.txt").write_text("a tale of this man " * 150 + "\n")
    config = one_cell.read_config()
    config["datasets"]["religion"]["variants"]["qa"]["filler"] = "long.txt"
    one_cell.write_config(config)
    output = one_cell.run(TARGET, succeeds=False)
    assert re.search(
        r"model answering: instance \d+ has [67]\d\d tokens; expected at most 512", output
    )
    assert "Traceback" not in output
    assert not (one_cell.folder / "results/summary.csv").exists()


HANG = """

_run, _batches = QuestionAnswering.run, []


def _run_or_hang(*arguments, **options):
    import time

    _batches.append(1)
    if len(_batches) > 80:
        time.sleep(10**6)
    return _run(*arguments, **options)


QuestionAnswering.run = _run_or_hang
"""


def test_a_job_that_hangs_ends_itself_and_keeps_its_parts(one_cell: Project):
    # Nine batches of the audit and 24 of each part, a row each: it hangs behind the 80th batch, near
    # the end of the third part.
    edit_config(one_cell, "inference", device="cpu", token_budget=1, time_limit=0.3)
    models = one_cell.folder / "src/biasgrid/inference/models"
    with (models / "extractive/back_end.py").open("a") as code:
        code.write(HANG)
    one_cell.make_parts_small()
    output = one_cell.run(TARGET, succeeds=False)
    assert "answering: no progress for 0.3 minutes, so the job ended itself" in output
    parts = (one_cell.folder / "results/.answers/religion/answering").glob("*/*/*.parquet")
    assert sum(len(pl.read_parquet(part)) for part in parts) == 80 - 9
    assert not (one_cell.folder / "results/summary.csv").exists()


# Clocks
# -------------------------------------------------------------------------------------------------------------

# Snakemake remembers what small inputs were made of; large tables have their times alone.
LARGE = ("--max-checksum-file-size", "0")
DAY = 86_400


@pytest.mark.parametrize("days", [-1, 1])
def test_results_from_another_day_are_brought_in_order_by_one_run(
    project: Project, finished: Project, days: int
):
    moment = time.time() + days * DAY
    for folder in ("instances", "measures", "models"):
        for path in (project.folder / "results" / folder).rglob("*.*"):
            os.utime(path, (moment, moment))
    project.run("results/measures/religion/answering.parquet", *LARGE)
    project.check_same_tables(finished)
    assert project.planned("results/measures/religion/answering.parquet", *LARGE) == {}


def test_a_clock_that_is_set_back_while_a_shard_is_predicted_does_not_lose_it(one_cell: Project):
    # The instances were made on a day that has not come yet.
    script = one_cell.folder / "workflow/scripts/predict.py"
    jump = f"import os, time\nos.utime(snakemake.input.instances, (time.time() + {DAY},) * 2)\n"
    script.write_text(script.read_text().replace("import torch\n", f"import torch\n{jump}", 1))
    one_cell.run(TARGET, *LARGE)
    assert one_cell.planned(TARGET, *LARGE) == {}
