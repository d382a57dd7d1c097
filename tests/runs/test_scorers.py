"""What plan and status say of models that read the texts which others write."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.console import Console
from small_probes import CHESS
from small_tables import predictions_of, whole, write_instances
from transformers import AutoTokenizer

from biasgrid.cli.commands.plan import plan_table
from biasgrid.cli.commands.status import status_table
from biasgrid.config import load_word_lists, parse_config
from biasgrid.families.responses import texts_of_cell
from biasgrid.jobs.progress import Beat
from biasgrid.runs.counts import Estimate
from biasgrid.runs.failures import Failure
from biasgrid.runs.layout import Layout, Shard
from biasgrid.runs.plan import CellPlan, MachineRate, Plan, make_plan
from biasgrid.runs.status import CellStatus, read_status
from biasgrid.tables.files import write_table
from biasgrid.tables.schema import answer_schema

pytestmark = pytest.mark.family("scorers read what probes are answered")

ASKED = 2 * 3
"""Items and repetitions."""
SCORED = CHESS.replace(
    "orders: all                             # or a number, seeded", "orders: 1"
).replace(
    "evaluator: option-letter\nmetric: {stereotype_rate: share-of-expected}",
    "evaluator: {name: scorer, model: nice}\nmetric: {stereotype_rate: mean}",
)
SAID = ["The cook lied.", "The old man sat by the sea.", "The cook lied.", "", "Ann sat.", "  "]


@pytest.fixture
def layout(tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]) -> Layout:
    """A grid of which nothing is made: a writer whose texts are scored, and the scorer, which is
    not selected.
    """
    (tmp_path / "probe.yaml").write_text(SCORED)
    writer = {
        "task": "text-generation",
        "kind": "LM",
        "label": "W",
        "checkpoint": "some/model",
        "revision": "main",
    }
    scorer = {
        "task": "text-classification",
        "kind": "S",
        "label": "N",
        "scorer": {"labels": ["neutral"]},
    }
    content: dict[str, Any] = {
        "results": str(tmp_path / "results"),
        "word_lists": str(tmp_path),
        "models": {
            "writer": writer | {"generation": {"max_tokens": 8}},
            "nice": scorer | {"folder": str(tiny_checkpoint("bert", "text-classification"))},
        },
        "datasets": {
            "chess": {"family": "probe", "title": "Chess", "probe": "probe.yaml", "repetitions": 3}
        },
        "run": {"models": ["writer"], "datasets": ["chess"]},
    }
    return Layout(parse_config(content, "config.yaml"))


def finish(shard: Shard, rows: int) -> None:
    """Leaves what a shard of so many rows has made."""
    shard.predictions.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"instance": range(rows)}).write_parquet(shard.predictions)


def planned(layout: Layout) -> tuple[Plan, CellPlan]:
    plan = make_plan(layout.config, load_word_lists(layout.config), MachineRate(rows_per_second=2))
    return plan, plan.scorers[0]


def status_of(layout: Layout) -> CellStatus:
    return read_status(layout.config).scorers[0]


def write_texts(layout: Layout) -> list[str]:
    """Leaves what the writer has written, and returns its distinct texts, which are left too."""
    [shard] = layout.shards("chess", "writer")
    asked = pl.DataFrame({"instance": range(ASKED)}, schema={"instance": pl.UInt32})
    asked = asked.with_columns(key=pl.col("instance").cast(pl.UInt64))
    shard.predictions.parent.mkdir(parents=True)
    table = predictions_of("text", asked, response=SAID, status=["ok"] * ASKED)
    write_table(table, shard.predictions, answer_schema("text"), {})
    write_instances(whole(texts_of_cell([shard.predictions])), layout.texts("chess", "writer"), {})
    return sorted({text for text in SAID if text.strip()})


def test_before_texts_are_written_a_plan_counts_at_most_as_many_as_are_asked_for(
    layout: Layout,
) -> None:
    plan, scored = planned(layout)
    assert [(each.dataset, each.writer, each.model) for each in plan.scorers] == [
        ("chess", "writer", "nice")
    ]
    assert scored.instances == Estimate(ASKED, exact=False)
    assert scored.tokens == Estimate(8 * ASKED, exact=False)
    assert scored.flop == Estimate(2 * (scored.parameters or 0) * 8 * ASKED, exact=False)
    assert scored.seconds_left == Estimate(ASKED / 2, exact=False)
    # The writer is not fetched, the scorer is there.
    assert scored.parameters
    assert (plan.totals.cells, plan.totals.shards, plan.totals.seconds.value) == (1, 2, ASKED)


def test_texts_that_are_written_are_counted_and_tokenized(layout: Layout) -> None:
    texts = write_texts(layout)
    plan, scored = planned(layout)
    tokenizer = AutoTokenizer.from_pretrained(layout.config.models["nice"].folder)
    assert scored.instances == Estimate(len(texts))
    assert scored.tokens == Estimate(sum(map(len, tokenizer(texts)["input_ids"])), exact=False)
    assert (scored.shards_done, plan.totals.shards_done) == (0, 1)
    finish(layout.scorer("chess", "writer", "nice"), len(texts))
    plan, scored = planned(layout)
    assert (scored.seconds_left, plan.totals.shards_done) == (Estimate(0), 2)


def test_a_status_shows_what_waits_runs_has_failed_and_is_done(layout: Layout) -> None:
    shard = layout.scorer("chess", "writer", "nice")
    waiting = status_of(layout)
    assert (waiting.writer, waiting.state, waiting.expanded) == ("writer", "waiting", False)
    assert waiting.instances == Estimate(ASKED, exact=False)
    texts = write_texts(layout)
    shard.progress.parent.mkdir(parents=True)
    shard.progress.write_text(
        json.dumps(Beat(1, 0, len(texts), 0.5, time.time(), "here", 1)._asdict())
    )
    running = status_of(layout)
    assert (running.state, running.rows, running.instances) == ("running", 1, Estimate(len(texts)))
    assert running.seconds_left == Estimate((len(texts) - 1) / 0.5)
    shard.log.parent.mkdir(parents=True)
    shard.log.write_text("2026-11-20 20:17:30,534 CRITICAL model one: no weights\n")
    failed = read_status(layout.config)
    failure = Failure("predict_scorer", str(shard.log), "model one: no weights")
    assert (failed.scorers[0].state, failed.scorers[0].failures, failed.failures) == (
        "failed",
        [failure],
        [],
    )
    finish(shard, len(texts))
    done = read_status(layout.config)
    assert (done.scorers[0].state, done.scorers[0].rows) == ("done", len(texts))
    # The grid has one cell, and its texts are rows beside it.
    assert done.totals.states["done"] == done.totals.cells == 1
    assert done.totals.rows == ASKED + len(texts)


def test_the_tables_have_a_line_for_each_reader(layout: Layout) -> None:
    console = Console(file=io.StringIO(), width=140)
    console.print(plan_table(planned(layout)[0], MachineRate(rows_per_second=100), 140))
    console.print(status_table(read_status(layout.config), 140))
    told = [
        line.split("texts")[1].split()
        for line in console.file.getvalue().splitlines()
        if "nice of writer's" in line
    ]  # type: ignore[attr-defined]
    assert told[0][:1] == ["~6"]
    assert told[1][:3] == ["waiting", "0", "~6"]
