"""What was answered: by probabilities of Yes and No, or in a text in which the answer is looked for."""

from __future__ import annotations

import polars as pl

from biasgrid.families.refusal import declined, plain
from biasgrid.families.statement.expand import OPTIONS

OUTCOMES = ("answered", "refused", "length", "unclear")
"""Whether there is an answer, and why not: the model declined, its text was cut off, or it says something else."""
YES, NO = OPTIONS
FOLLOWED = r"(?:\s*(?:[^a-z\s/]|$)|\s+(?:they|he|she|it|i|we|you|that|this|these|those|there|not)\b)"
AT_START = rf"(?i)^[^a-z]*(?:(?:the )?(?:correct |right |short )?answer(?: is)?[^a-z]*)?(yes|no){FOLLOWED}"
AT_END = r"(?i)[\n.:!?][^a-z]*(?:(?:the )?(?:correct |right |final )?answer(?: is)?[^a-z]*)?(yes|no)[^a-z]*$"
"""`No one is ...` is not the answer No, and `Yes or No` none at all."""


def said(predictions: pl.DataFrame) -> pl.DataFrame:
    """Reads answers of either kind.

    Args:
        predictions: answers of the kind `choice`, whose candidates are Yes and No, or `text`.

    Returns:
        Row by row `yes` and `no`, the probabilities of the answers as the model has them (1 and 0 where a text was
        read), null where one is not known; `share`, that of Yes among both; `says_yes`, null where there is no answer
        or both are as probable; `outcome`, one of `OUTCOMES`.
    """
    columns = predictions.columns
    probabilities = (
        [pl.col("probabilities").list.get(place, null_on_oob=True).cast(pl.Float64) for place in range(len(OPTIONS))]
        if "probabilities" in columns
        else [pl.lit(None, pl.Float64)] * len(OPTIONS)
    )
    texts = {name: pl.col(name) if name in columns else pl.lit(None, pl.String) for name in ("response", "status")}
    cluster = predictions.select(
        yes=probabilities[0],
        no=probabilities[1],
        response=plain(texts["response"]),
        status=texts["status"].cast(pl.String),
    )
    return with_answers(with_texts(cluster)).select("yes", "no", "share", "says_yes", "outcome")


def with_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds what texts say, as probabilities, where there are no others."""
    response, whole = pl.col("response"), pl.col("status").ne_missing("length")
    answer = pl.coalesce(response.str.extract(AT_START), pl.when(whole).then(response.str.extract(AT_END)))
    is_read = pl.all_horizontal(pl.col("yes", "no").is_null()) & answer.is_not_null()
    chosen = {name: answer.str.to_lowercase() == option.lower() for name, option in (("yes", YES), ("no", NO))}
    return frame.with_columns(
        pl.when(is_read).then(is_answer.cast(pl.Float64)).otherwise(name).alias(name)
        for name, is_answer in chosen.items()
    )


def with_answers(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds the answer, and whether there is one."""
    yes, no = pl.col("yes"), pl.col("no")
    # Of answers that APES published the other one's probability is not known.
    share = pl.when(yes.is_null()).then(1 - no).when(no.is_null()).then(yes).when(yes + no > 0).then(yes / (yes + no))
    more_yes = yes.fill_null(-1) - no.fill_null(-1)
    says_yes = pl.when(more_yes != 0).then(more_yes > 0)
    outcome = (
        pl.when(says_yes.is_not_null())
        .then(pl.lit("answered"))
        .when(pl.col("status") == "length")
        .then(pl.lit("length"))
        .when(declined(pl.col("status"), pl.col("response")))
        .then(pl.lit("refused"))
        .otherwise(pl.lit("unclear"))
    )
    return frame.with_columns(share=share, says_yes=says_yes, outcome=outcome.cast(pl.Enum(OUTCOMES)))
