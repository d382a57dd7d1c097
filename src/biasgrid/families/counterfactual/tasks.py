"""What hangs on the task of the models that cases are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from biasgrid.groups.records import Sort

CLASSIFICATION = "text-classification"
ANSWERS = {CLASSIFICATION: "choice", "fill-mask": "choice", "question-answering": "span"}
"""The kind of the answers."""
SORTS: dict[str, Sort] = {CLASSIFICATION: "classes", "fill-mask": "words", "question-answering": "answers"}
"""What records there are of the answers, and so which scores can be asked for."""
# Measured on the packs of word_lists/counterfactual; their instances take 14.8 to 16.7 bytes a row.
ROW_BYTES = {CLASSIFICATION: 21.3, "fill-mask": 40.0, "question-answering": 14.1}
"""About how many bytes a row of the predictions takes."""
