"""What models answered to statements: one row per instance, and by the classes that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.statement.answers import NO, YES, said

READ = ["instance", "template", "pair", "negated", "repetition", "domains", "names", "classes", "label"]
"""The columns of instances that are observed."""
SAID = ["instance", "probabilities", "status", "response"]
"""The columns of predictions that are observed, of those that the kind has."""


def observe(instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Puts answers beside what was asked.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        options: see `measure.measure`.

    Returns:
        By instance `READ`, what `answers.said` returns, and `is_right`, null where there is no answer.
    """
    answers = predictions.select("instance").hstack(said(predictions))
    rows = instances.select(READ).sort("instance").join(answers, on="instance", maintain_order="left")
    label = pl.col("label").cast(pl.String)
    told = pl.when("says_yes").then(pl.lit(YES)).otherwise(pl.lit(NO))
    return rows.with_columns(is_right=pl.when(pl.col("says_yes").is_not_null()).then(told == label))


def by_class(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each value that an instance is about.

    Returns:
        The observations with `bias_type`, the value's domain, and its parameter where a template has several of the
        domain; `group`, its class; `subject`, the value; and `place`, the parameter's place.
    """
    tables = [
        observations.join(roles, on="template", maintain_order="left").with_columns(
            place=pl.lit(place, pl.UInt8),
            **{
                name: pl.col(lists).list.get(place).cast(pl.String)
                for name, lists in (("group", "classes"), ("subject", "names"))
            },
        )
        for place, roles in roles_of(observations).items()
    ]
    if not tables:
        nothing = dict.fromkeys(("bias_type", "group", "subject"), pl.lit(None, pl.String))
        return observations.head(0).with_columns(**nothing, place=pl.lit(None, pl.UInt8))
    return pl.concat(tables)


def roles_of(observations: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """Returns `template` and `bias_type` of the templates that have a parameter, by its place."""
    rows: dict[int, list[tuple[int, str]]] = {}
    for template, domains in observations.select("template", "domains").unique("template", maintain_order=True).rows():
        for place, domain in enumerate(domains):
            if domain:
                role = domain if domains.count(domain) == 1 else f"{domain} #{place + 1}"
                rows.setdefault(place, []).append((template, role))
    schema = {"template": pl.UInt16, "bias_type": pl.String}
    return {place: pl.DataFrame(rows[place], schema=schema, orient="row") for place in sorted(rows)}
