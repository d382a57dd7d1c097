"""What speaks against cells of statements."""

from __future__ import annotations

from collections.abc import Iterator

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.validity import equal_scores, improbable, of_scores, templates, unknown_tokens
from biasgrid.tables.completeness import Check


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.FLAGS`."""
    yield from unknown_tokens(cell.predictions)
    yield from of_scores(cell.instances, cell.predictions)
    scored = cell.observations.select("yes", "no").drop_nulls().to_numpy()
    yield from equal_scores(scored)
    if len(scored):
        yield improbable(scored)
    count = len(cell.observations)
    yield Check("unanswered", cell.observations["says_yes"].null_count() / count, count)
    answers = cell.observations["says_yes"].drop_nulls()
    if len(answers):
        most = max(int(answers.sum()), len(answers) - int(answers.sum()))
        yield Check("one_answer", most / len(answers), len(answers))
    yield templates(cell.observations)
