"""Models that do not take every batch of rows of one length."""

from collections.abc import Callable

import polars as pl
import pytest
from plain import Plain
from shards import Cell, largest_difference
from tiny_checkpoints import LABELS

from biasgrid.inference.engine.batches import warn_once

TASK = "text-classification"
TEXTS = {
    "gpt2": ["Ann lied.", "Carl lied.", "The man sat by Ann.", "The man sat by Carl."],
    "bart": ["Ann</s> Ann", "Ann Ann Ann", "Carl</s> Ann", "Carl Ann Ann"],
}
"""GPT-2 takes no batch without a token for padding, BART none of texts with unequal numbers of
ends.
"""


@pytest.mark.parametrize("architecture", TEXTS)
def test_rows_are_run_singly_where_the_model_refuses_them_together(
    case_cell: Callable[..., Cell], architecture: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    ours = case_cell(architecture, TASK, [{"text": text} for text in TEXTS[architecture]])
    plain = Plain(ours.checkpoint, TASK)
    said = [plain.class_probabilities(text) for text in TEXTS[architecture]]
    expected = pl.DataFrame({"instance": ours.instances["instance"], "probabilities": said})
    predicted = ours.predict(labels=LABELS)
    assert (
        largest_difference(predicted, expected.cast({"probabilities": pl.List(pl.Float32)})) < 1e-5
    )
    assert caplog.text.count("its rows are run one at a time") == 1
