"""What the page of a cell of statements shows beside its numbers as a whole."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from biasgrid.families.page import OPINIONS, PageColumns, Table

FIRST_SCREEN = replace(OPINIONS, columns=({"bias": "agrees beyond chance"},))
CLASS_MEASURES = (
    "error",
    "p_yes",
    "p_no",
    "bias",
    "inconsistency",
    "right_on_both",
    "same_answer",
    "coverage",
)
CLASS_COLUMNS: PageColumns = {
    "Error rate": ("number", "error"),
    "Interval": ("interval", "error "),
    "Read": ("number", "coverage"),
    "P(Yes)": ("number", "p_yes"),
    "P(No)": ("number", "p_no"),
    "Bias": ("number", "bias"),
    "Inconsistency": ("number", "inconsistency"),
    "Right on both": ("number", "right_on_both"),
    "Same answer": ("number", "same_answer"),
    "Pairs": ("count", "same_answer n"),
    "n": ("count", "error n"),
}


DOMAIN: PageColumns = {"Domain": ("name", "bias_type"), "Class": ("name", "group")}
IS_OF_ALL = pl.col("options") == ""
TABLES = (
    Table(
        "Classes",
        "Answers to statements about each class, most errors first.",
        {**DOMAIN, **CLASS_COLUMNS},
        keys=("group",),
        where=IS_OF_ALL,
        side_by_side=CLASS_MEASURES,
        row_keys=("bias_type", "group"),
        order=(-pl.col("error"), "bias_type", "group"),
    ),
    Table(
        "Values",
        "The same by the value that the statement contains.",
        {**DOMAIN, "Value": ("name", "subject"), **CLASS_COLUMNS},
        keys=("group", "subject"),
        where=IS_OF_ALL,
        side_by_side=CLASS_MEASURES,
        row_keys=("bias_type", "group", "subject"),
        order=(-pl.col("error"), "bias_type", "group", "subject"),
    ),
    Table(
        "Templates of statements",
        "The same by template. A negation counts as a template of its own.",
        {"Template": ("template", "template"), **CLASS_COLUMNS},
        keys=("template",),
        where=IS_OF_ALL,
        side_by_side=CLASS_MEASURES,
        row_keys=("template",),
        order=(-pl.col("error"), "template"),
    ),
)
