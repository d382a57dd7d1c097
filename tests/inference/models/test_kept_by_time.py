"""A job that is slow keeps its answers within seconds: killed it loses few, told to end none."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from project import ROOT
from shards import Cell, asked

from biasgrid.inference.models.predict import SECONDS_A_FILE
from biasgrid.jobs.progress import read_beat

pytestmark = pytest.mark.slow

ROWS, ROWS_PER_SECOND = 400, 20
SLOW = f"""
import time

import polars as pl

from biasgrid.inference.engine.back_end import BackEnd, with_instance_and_key, tables_at_intervals


class Slow(BackEnd):
    def __init__(self, counts):
        self.counts = counts

    @classmethod
    def open(cls, record, settings, prompts):
        return cls(settings.cell.parent / "answered")

    def answer(self, parts):
        for part in parts:
            texts = []
            taken = []

            def steps():
                for text in part.unanswered["text"].cast(pl.String):
                    time.sleep({1 / ROWS_PER_SECOND})
                    texts.append(text[::-1])
                    with self.counts.open("a") as file:
                        file.write(".")
                    yield

            def take():
                rows = part.unanswered.slice(len(taken), len(texts) - len(taken))
                columns = {{"response": texts[len(taken) :], "status": "ok"}}
                taken.extend(texts[len(taken) :])
                schema = {{"response": pl.String, "status": pl.Categorical}}
                return with_instance_and_key(rows, pl.DataFrame(columns, schema))

            yield from tables_at_intervals(steps(), take)
"""
JOB = """
import sys
from pathlib import Path

from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.predict import ShardFiles, predict_shard
from biasgrid.jobs.interruption import interrupt_at_sigterm

interrupt_at_sigterm()
folder = Path(sys.argv[1])
files = ShardFiles(
    folder / "instances.parquet",
    folder / "model.json",
    folder / "out.parquet",
    folder / "timing.json",
    folder / "answers",
    folder / "progress.json",
)
settings = InferenceSettings(model="slow", task="text-generation", precision="", token_budget=1, device="cpu", seconds_without_progress=600, answer="text")
predict_shard(files, 1, 1, f"{folder}/slow.py:Slow", settings, {})
"""


class SlowJob:
    """A shard of a slow model, in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        texts = asked([{"text": f"Is {number} a number?"} for number in range(ROWS)])
        # Writes the files that rules give the job.
        Cell(folder, "text-generation", texts, folder, "slow", {"slow": True})
        (folder / "slow.py").write_text(SLOW)

    def start(self) -> subprocess.Popen[bytes]:
        source = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        return subprocess.Popen([sys.executable, "-c", JOB, str(self.folder)], env=source)

    @property
    def answered(self) -> int:
        file = self.folder / "answered"
        return file.stat().st_size if file.exists() else 0

    @property
    def kept(self) -> int:
        parts = (self.folder / "answers").glob("*/*/*.parquet")
        return sum(len(pl.read_parquet(part)) for part in parts)

    @property
    def beat(self) -> tuple[int, int]:
        """How many rows `biasgrid status` shows as done and as kept."""
        beat = read_beat(self.folder / "progress.json")
        assert beat is not None
        return beat.rows, beat.saved_rows


@pytest.fixture
def job(tmp_path: Path) -> SlowJob:
    return SlowJob(tmp_path)


def end_after(job: SlowJob, answers: int, number: signal.Signals) -> None:
    process = job.start()
    while job.answered < answers:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(30) != 0


def test_a_killed_job_loses_the_answers_of_seconds(job: SlowJob) -> None:
    end_after(job, 10 * ROWS_PER_SECOND, signal.SIGKILL)
    answered = job.answered
    assert answered - (SECONDS_A_FILE + 2) * ROWS_PER_SECOND <= job.kept <= answered
    rows, kept = job.beat
    assert job.kept - 2 * SECONDS_A_FILE * ROWS_PER_SECOND <= kept <= job.kept
    assert rows >= kept > 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_terminated_job_loses_no_answer(job: SlowJob, number: signal.Signals) -> None:
    end_after(job, 30, number)
    answered = job.answered
    assert 30 <= answered < ROWS
    # The answer that was on its way may be counted and not yet be an answer.
    assert answered - 1 <= job.kept <= answered
    assert job.beat == (job.kept, job.kept)


def test_the_next_job_asks_the_rest_alone(job: SlowJob) -> None:
    end_after(job, ROWS - 30, signal.SIGTERM)
    kept = job.kept
    (job.folder / "answered").unlink()
    assert job.start().wait(60) == 0
    assert job.answered == ROWS - kept
    texts = pl.read_parquet(job.folder / "out.parquet")["response"]
    assert texts.to_list() == [f"Is {number} a number?"[::-1] for number in range(ROWS)]
