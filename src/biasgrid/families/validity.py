"""Checks that families share of whether a cell can be measured at all.

Which of them a family has, and their limits, stand under `flags` of its `measures.yaml`:
`checks_of_cell` makes these, and `tables.completeness` compares them with the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.cell import MeasuredCell
from biasgrid.tables.answers.choice import option_mass
from biasgrid.tables.answers.text import THOUGHT_MARK
from biasgrid.tables.completeness import Check

SCORE_COLUMNS = ("probabilities", "starts", "ends")
"""Columns of predictions that hold what was read of candidates or classes."""
SCORED_BY = "scored_by"
"""The column that says how scores of generative models were read."""
UNPARSED_SCORES = ("logits", "echo", "top")
"""How scores of generative models are read, where they are not parsed from a response."""
LEAST_PROBABILITY = 0.001
"""Where the candidates together have less, a masked language model says nothing of them."""
LONGEST_ANSWER_SHOWN = 60
"""How many characters of an answer are shown."""
NORMAL_QUANTILE = 1.959963984540054
"""The normal quantile of 97.5 %, for intervals of 95 %."""
ROWS_CHECKED_AT_ONCE = 2**17
"""How many rows are looked at together, so that there need not be memory for all of them."""

Scores = FloatArray | Iterable[FloatArray]
"""Scores of the candidates of instances, all at once or part by part, as often as they are asked
for.
"""


def unknown_tokens(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of instances whose text the tokenizer does not know, where somebody looked.

    Args:
        predictions: answers of any kind.
    """
    if "unknown" not in predictions.collect_schema():
        return
    unknown, counted_rows = sum_and_count(predictions, pl.col("unknown"))
    if counted_rows:
        yield Check("unknown_tokens", unknown / counted_rows, counted_rows)


def sum_and_count(predictions: pl.LazyFrame, holds: pl.Expr) -> tuple[int, int]:
    """Returns in how many predictions something holds, and of how many that is known."""
    counts = predictions.select(sum=holds.sum(), count=holds.count()).collect()
    total, known_count = counts.row(0)
    return total, known_count


def thought_marks(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of texts that begin with a mark of thoughts, if there are any."""
    if "response" not in predictions.collect_schema():
        return
    is_marked = pl.col("response").cast(pl.String).str.contains(rf"^{THOUGHT_MARK}")
    marked, counted_rows = sum_and_count(predictions, is_marked)
    if marked:
        yield Check("thought_marks", marked / counted_rows, counted_rows)


def over_limit(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of texts that are longer than they were to be, where there are any."""
    if "over_limit" not in predictions.collect_schema():
        return
    longer, counted_rows = sum_and_count(predictions, pl.col("over_limit"))
    if longer:
        yield Check("over_limit", longer / counted_rows, counted_rows)


def equal_scores(scores: Scores) -> Iterator[Check]:
    """Yields the share of instances whose candidates score the same, if there are any with several.

    Args:
        scores: shape (instances, candidates), NaN behind an instance's last one.
    """
    several = equal = 0
    for part in row_chunks(scores):
        score_counts = np.zeros(len(part), dtype=np.uint32)
        low, high = np.full((2, len(part)), np.nan)
        for column in part.T:
            score_counts += ~np.isnan(column)
            # The minimum of a number and NaN is the number.
            low, high = np.fmin(low, column), np.fmax(high, column)
        has_several = score_counts > 1
        several += int(np.count_nonzero(has_several))
        equal += int(np.count_nonzero(has_several & (low == high)))
    if several:
        yield Check("equal_scores", equal / several, several)


def saturated_scores(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of instances whose scores are all 0 or 1; see `moving_scores`."""
    names = score_columns(predictions)
    if not names:
        return
    columns = [name for name in (*names, SCORED_BY) if name in predictions.collect_schema()]
    saturated = moving = 0
    for part in row_parts(predictions.select(columns)):
        of_part, moving_of_part = count_saturated(part, names)
        saturated += of_part
        moving += moving_of_part
    if moving:
        yield Check("saturated_scores", saturated / moving, moving)


def count_saturated(predictions: pl.DataFrame, score_names: Sequence[str]) -> tuple[int, int]:
    """Counts instances whose scores are all 0 or 1, and those whose scores may be any.

    See `moving_scores`.
    """
    read = unparsed_scores(predictions.lazy()).collect()
    if all(are_between(read[name]) for name in score_names):
        return 0, len(read)
    moving = moving_scores(read.lazy()).collect()
    has_one = moving.filter(pl.all_horizontal(pl.col(name).list.max() == 1 for name in score_names))
    # Of a score s, s (1 - s) is 0 only if s is 0 or 1.
    variance = pl.element() * (1 - pl.element())
    are_even = [pl.col(name).list.eval(variance).list.max() == 0 for name in score_names]
    saturated = has_one.select(pl.all_horizontal(are_even).sum()).item()
    return int(saturated), len(moving)


def are_between(lists: pl.Series) -> bool:
    """Whether all scores of some lists are above 0 and below 1.

    Most are, and this looks at many at once.
    """
    scores = lists.explode().to_numpy()
    return bool(((scores > 0) & (scores < 1)).all())


def row_parts(table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Yields some rows of a table after others."""
    count = table.select(pl.len()).collect().item()
    for start in range(0, count, ROWS_CHECKED_AT_ONCE):
        yield table.slice(start, ROWS_CHECKED_AT_ONCE).collect()


def constant_scores(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of the first instances whose scores do not depend on the text.

    See `moving_scores`.

    Args:
        instances: with all columns.
        predictions: answers of any kind.
    """
    names = score_columns(predictions)
    if not names:
        return
    scores = moving_scores(predictions).select("instance", *names)
    first = scores.head(ROWS_CHECKED_AT_ONCE).collect()
    if len(first):
        constant = count_constant(instances, first, names)
        yield Check("constant_scores", constant / len(first), len(first))


def score_columns(predictions: pl.LazyFrame) -> list[str]:
    """Returns the columns that hold scores; none where answers have none."""
    columns = predictions.collect_schema()
    return [name for name in SCORE_COLUMNS if name in columns]


def moving_scores(predictions: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the predictions whose scores may be any: not all of them are 0.

    Scores that were parsed from a response do not count: they are 0 and 1 by nature.
    """
    above_zero = [pl.col(name).list.max() > 0 for name in score_columns(predictions)]
    return unparsed_scores(predictions).filter(pl.any_horizontal(above_zero))


def unparsed_scores(predictions: pl.LazyFrame) -> pl.LazyFrame:
    """Returns the predictions whose scores were not parsed from a response."""
    if SCORED_BY not in predictions.collect_schema():
        return predictions
    scored_by = pl.col(SCORED_BY)
    is_unparsed = scored_by.cast(pl.String).is_in(UNPARSED_SCORES)
    return predictions.filter(scored_by.is_null() | is_unparsed)


def count_constant(
    instances: pl.LazyFrame, scores: pl.DataFrame, score_names: Sequence[str]
) -> int:
    """Counts instances whose scores are those of all others with the same candidates.

    Some of the others must have other texts.

    Args:
        instances: with all columns.
        scores: `instance` and lists of scores; others are not looked at.
        score_names: the names of the lists.
    """
    columns = instances.collect_schema()
    texts = [name for name in ("system", "text", "text_pair") if name in columns]
    # Without candidates all instances are asked about the same classes.
    candidates = [name for name in columns if name.startswith("candidate")]
    # Scores are of the first instances, and no more of the file need be read.
    near = pl.col("instance").is_between(scores["instance"].min(), scores["instance"].max())
    requests = instances.filter(near).select("instance", *candidates, *texts).collect()
    rows = requests.join(scores, on="instance")
    rows = rows.with_columns(all=pl.lit(0), said=pl.struct(score_names).rank("dense"))
    groups = rows.group_by("all", *candidates).agg(
        pl.len(),
        pl.col("said").n_unique(),
        texts=pl.struct(pl.col(texts).cast(pl.String)).n_unique(),
    )
    constant = groups.filter(pl.col("said") == 1, pl.col("texts") > 1)
    return int(constant["len"].sum())


def same_text(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of the commonest answer among texts that are not empty.

    Args:
        predictions: answers of any kind.
    """
    if "response" not in predictions.collect_schema():
        return
    texts = predictions.select(pl.col("response").cast(pl.String).str.strip_chars()).drop_nulls()
    written = texts.filter(pl.col("response") != "")
    counts = written.group_by("response").agg(count=pl.len()).collect()
    answers = int(counts["count"].sum())
    if answers:
        # Numbers without a sign cannot be negated.
        largest_first = -pl.col("count").cast(pl.Int64)
        text, count = counts.sort(largest_first, "response").row(0)
        yield Check("same_text", count / answers, answers, flag=shortened(text))


def same_place(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of answers that give the commonest place a probability of exactly 1.

    Probabilities that were read from a model change with the text even where one place always has
    more; only choices of one place tell nothing else.

    Args:
        predictions: answers of any kind.
    """
    if "probabilities" not in predictions.collect_schema():
        return
    scores = pl.col("probabilities").list
    chosen = pl.when(scores.max() == 1).then(scores.arg_max()).alias("place")
    answers = predictions.filter(scores.sum() > 0)
    counts = answers.group_by(chosen).agg(count=pl.len()).collect()
    answered = int(counts["count"].sum())
    if answered:
        # Answers whose largest probability is below 1 have no place, but count as answers.
        commonest = counts.drop_nulls("place")["count"].max() or 0
        yield Check("same_place", int(commonest) / answered, answered)  # type: ignore[arg-type]


def shortened(answer: str) -> str:
    """Returns an answer as a flag shows it."""
    if len(answer) > LONGEST_ANSWER_SHOWN:
        answer = f"{answer[: LONGEST_ANSWER_SHOWN - 3]}..."
    return repr(answer)


def one_answer(answers: pl.DataFrame) -> Iterator[Check]:
    """Answers that are the commonest one / answers; nothing where there are none.

    Args:
        answers: `name`, what was answered, and `value`, how much of an answer that is: 1, or its
            probability.
    """
    yield from commonest_share("one_answer", answers)


def share_with_interval(flag: str, share: float, cases: int, expected: float = 0) -> Check:
    """Returns a share less an expectation, with Wilson's interval of 95 % (JASA 1927).

    Args:
        flag: the flag that it is the value of.
        share: of 0 to 1.
        cases: how many independent cases it is a share of.
        expected: is subtracted from the share and from both ends of its interval.
    """
    square = NORMAL_QUANTILE**2
    centre = (share + square / (2 * cases)) / (1 + square / cases)
    spread = share * (1 - share) / cases + square / (4 * cases**2)
    half = NORMAL_QUANTILE * sqrt(spread) / (1 + square / cases)
    return Check(flag, share - expected, cases, centre - half - expected, centre + half - expected)


def commonest_share(flag: str, rows: pl.DataFrame) -> Iterator[Check]:
    """Yields how large the share of the commonest of some names is.

    Args:
        flag: of what.
        rows: `name` and `value`, how much each counts.
    """
    weights = rows.group_by("name").agg(pl.col("value").sum())
    # A group_by has no order of rows, and the last digit of the sum depends on it.
    weights = weights.sort(-pl.col("value"), "name")
    if len(weights):
        name, weight = weights.row(0)
        total = float(weights["value"].sum())
        yield Check(flag, float(weight) / total, round(total), flag=str(name))


def improbable(scores: Scores, alternative: str = "") -> Iterator[Check]:
    """Yields the share of instances whose candidates have next to no probability, if there are any.

    Args:
        scores: shape (instances, candidates), the probabilities of a masked language model, NaN
            behind the last one.
        alternative: the end of the problem's text, which names tokens with more probability in the
            same place.
    """
    count = low = 0
    for part in row_chunks(scores):
        count += len(part)
        low += int(np.count_nonzero(np.nansum(part, axis=1) < LEAST_PROBABILITY))
    if count:
        yield Check("improbable", low / count, count, flag=alternative)


def low_mass(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the median probability that a written answer begins with an option.

    The flag names the tokens with which answers begin most often.

    Args:
        predictions: answers of any kind.
    """
    mass = option_mass(predictions)
    if mass is not None:
        tokens = ", ".join(map(repr, mass.first_tokens)) or "tokens that are not known"
        flag = f"its answers would most often begin with {tokens}"
        yield Check("low_mass", mass.median, mass.n, flag=flag)


def row_chunks(scores: Scores) -> Iterator[FloatArray]:
    """Yields some rows after others."""
    for part in [scores] if isinstance(scores, np.ndarray) else scores:
        for start in range(0, len(part), ROWS_CHECKED_AT_ONCE):
            yield part[start : start + ROWS_CHECKED_AT_ONCE]


def few_names(group_names: pl.DataFrame) -> Iterator[Check]:
    """Yields how many names or terms the smallest group has, where names stand for groups.

    Where each group is a single name, such as a country, it is no sample of anything.

    Args:
        group_names: `bias_type`, `group` and `name`; groups of one bias type are compared.
    """
    groups = group_names.drop_nulls().unique().group_by("bias_type", "group")
    sizes = groups.agg(count=pl.len().cast(pl.Int64))
    has_several_names = (pl.col("count").max() > 1).over("bias_type")
    has_several_groups = (pl.len() > 1).over("bias_type")
    compared_groups = sizes.filter(has_several_names & has_several_groups).sort("count", "group")
    if len(compared_groups):
        smallest = compared_groups.row(0, named=True)
        flag = str(smallest["group"])
        yield Check("few_names", smallest["count"], len(compared_groups), flag=flag)


class CheckedAnswers(NamedTuple):
    """What a family says of the answers of a cell, for checks; None where it has no such thing.

    Attributes:
        scores: see `equal_scores`.
        word_scores: see `improbable`.
        beside: see `improbable`.
        labels: see `one_answer`.
        names: see `few_names`.
    """

    scores: Scores | None = None
    word_scores: Scores | None = None
    beside: str = ""
    labels: pl.DataFrame | None = None
    names: pl.DataFrame | None = None


def checks_of_cell(cell: MeasuredCell, answers: CheckedAnswers) -> Iterator[Check]:
    """Yields those of the checks here that are among the flags of a dataset, and that can be made.

    Args:
        cell: the cell, with the names of its flags; all are made where it has none.
        answers: what the family says of its answers.
    """
    predictions = (cell.predictions,)
    arguments_by_check: dict[Callable[..., Iterator[Check]], tuple[object, ...]] = {
        unknown_tokens: predictions,
        over_limit: predictions,
        thought_marks: predictions,
        saturated_scores: predictions,
        constant_scores: (cell.instances, cell.predictions),
        same_text: predictions,
        same_place: predictions,
        low_mass: predictions,
        equal_scores: (answers.scores,),
        improbable: (answers.word_scores, answers.beside),
        one_answer: (answers.labels,),
        few_names: (answers.names,),
    }
    for check, arguments in arguments_by_check.items():
        is_flag = cell.names is None or check.__name__ in cell.names
        if is_flag and all(value is not None for value in arguments):
            yield from check(*arguments)
