"""Measures predictions in the format of APES."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pandas as pd
import polars as pl

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import whole_file
from biasgrid.base.text import read_text
from biasgrid.families.cell import measured_values
from biasgrid.families.statement.expand import ANSWER_OPTIONS, LIST_COLUMNS
from biasgrid.families.statement.keys import KEYS
from biasgrid.families.statement.measures import measure, observe
from biasgrid.families.statement.observe import NO, YES
from biasgrid.families.statement.pack import STATEMENT
from biasgrid.families.statement.section import PROMPT
from biasgrid.formats.apes.export import (
    ANSWER_COLUMNS,
    NAME_OF_PARAMETER,
    QUESTION,
    examples_columns,
)
from biasgrid.formats.apes.mode import apes_error_rates
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import ASKED_BEFORE
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.keys import Repetitions, digest_rows
from biasgrid.tables.measures import MEASURES, table_of_cell
from biasgrid.tables.metric import read_definitions
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

APES_FILE = (
    "predictions of APES: a CSV file with template_id, param_1_name, ..., prompt, label, "
    "prediction and confidence"
)
OPTIONS_OF_MEASURES = {"measures": None, "failure_threshold": 0.1, "mode": None}
TABLE = {"apes_positive": "positive", "apes_negated": "negated", "apes_overall": "overall"}


def import_predictions(path: Path, folder: Path) -> list[str]:
    """Reads a `predictions.csv` and writes its tables: what was asked and answered, measures, and
    the table of APES.

    Returns:
        Lines that tell what was found, and the files that were written.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    rows, parameters = read_predictions(path)
    instances = instances_of(rows, parameters)
    predictions = predictions_of_rows(rows, instances)
    observations = observe(instances, predictions, OPTIONS_OF_MEASURES)
    measures = measured_values(measure, observations, OPTIONS_OF_MEASURES)
    # By the text alone, as APES compares them.
    as_published = apes_error_rates(rows["prediction"] != rows["label"]).with_columns(
        options=pl.lit("")
    )
    facts = table_provenance(parameters=parameters, prompt=PROMPT, predictions=path.name)
    tables = {
        "instances": (instances, schema_of_instances(KEYS, instances.schema)),
        "predictions": (predictions, answer_schema("choice")),
        "measures": (
            table_of_cell(
                pl.concat([measures, as_published], how="diagonal_relaxed"),
                MEASURES,
                path.stem,
                "apes",
            ),
            MEASURES,
        ),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (table, schema) in tables.items():
        write_table(table, folder / f"{name}.parquet", schema, facts)
    with whole_file(folder / "apes.csv") as partial:
        values = as_published.select("measure", "value").iter_rows()
        pl.DataFrame({TABLE[name]: [value] for name, value in values}).write_csv(partial)
    return [
        *report_lines(as_published, measures),
        *(f"{folder / name}.parquet written." for name in tables),
    ]


def read_predictions(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Reads the rows of a file, empty cells as empty texts, and the numbers of its parameters.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    try:
        frame = pd.read_csv(StringIO(read_text(path, APES_FILE)), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise InputError(
            [Fault(str(path), "", f"cannot be read by pandas ({error})", APES_FILE)]
        ) from None
    parameters = [
        found[1] for name in frame.columns if (found := NAME_OF_PARAMETER.fullmatch(name))
    ]
    needed = [*examples_columns(parameters), *ANSWER_COLUMNS]
    faults = [
        Fault(str(path), "line 1", f"there is no column {name}", APES_FILE)
        for name in needed
        if name not in frame
    ]
    if faults or frame.empty:
        raise InputError(faults or [Fault(str(path), "", "contains no predictions", APES_FILE)])
    wrong = [place for place, text in enumerate(frame["confidence"]) if text and not is_share(text)]
    if wrong:
        problem = f"confidence is {frame['confidence'][wrong[0]]!r}"
        raise InputError(
            [Fault(str(path), f"line {wrong[0] + 2}", problem, "a number from 0 to 1, or nothing")]
        )
    return pl.DataFrame(
        {name: frame[name].to_list() for name in needed}, schema=dict.fromkeys(needed, pl.String)
    ), (parameters)


def is_share(text: str) -> bool:
    """Says whether a text is a number in 0..1."""
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def instances_of(rows: pl.DataFrame, parameters: Sequence[str]) -> pl.DataFrame:
    """Makes instances of rows: the second half negates the first, where both are of the same
    values.
    """
    half = len(rows) // 2
    names = [f"param_{number}_name" for number in parameters]
    paired = len(rows) % 2 == 0 and rows[:half].select(names).equals(rows[half:].select(names))
    number = pl.int_range(pl.len())
    before, behind = PROMPT.split(STATEMENT)
    lists = {
        "names": [pl.col(name) for name in names],
        "classes": [pl.col(f"param_{number}_class") for number in parameters],
        "domains": [
            pl.when(pl.col(f"param_{number}_name") != "")
            .then(pl.lit(f"param_{number}"))
            .otherwise(pl.lit(""))
            for number in parameters
        ],
    }
    table = rows.with_columns(
        instance=number.cast(pl.UInt32),
        system=pl.lit(None, pl.Categorical),
        text=pl.lit(before) + pl.col("prompt").str.strip_suffix(QUESTION) + pl.lit(behind),
        text_pair=pl.lit(None, pl.Categorical),
        **{
            f"candidate{place}": pl.lit(option, pl.Categorical)
            for place, option in enumerate(ANSWER_OPTIONS, start=1)
        },
        template=(pl.col("template_id").rle_id()).cast(pl.UInt16),
        pair=(number % half if paired else pl.lit(None)).cast(pl.UInt32),
        negated=number >= half,
        repetition=pl.lit(0, pl.UInt16),
        **{
            name: pl.concat_list(each) if each else pl.lit([], pl.List(pl.String))
            for name, each in lists.items()
        },
    )
    schema = schema_of_instances(KEYS, table.schema)
    types = {
        name: column.dtype.type for name, column in schema.columns.items() if name != ASKED_BEFORE
    }
    typed = table.select(list(types)).cast(
        {name: types[name] for name in (*LIST_COLUMNS, "template_id", "label")}
    )
    return typed.with_columns(Repetitions().asked_before(digest_rows(typed))).select(
        list(schema.columns)
    )


def predictions_of_rows(rows: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Makes predictions of rows: the probability of the answer alone is known."""
    schema = answer_schema("choice")
    confidence = pl.col("confidence").replace("", None).cast(pl.Float32)
    chosen = [pl.when(pl.col("prediction") == option).then(confidence) for option in (YES, NO)]
    table = rows.with_columns(
        instances["instance"],
        probabilities=pl.concat_list(chosen),
        response=pl.col("prediction"),
        status=pl.when(pl.col("prediction") == "").then(pl.lit("empty")).otherwise(pl.lit("ok")),
    )
    nothing = [pl.lit(None).alias(name) for name in schema.columns if name not in table.columns]
    types = {name: column.dtype.type for name, column in schema.columns.items()}
    return table.with_columns(nothing).select(list(types)).cast(types)


def report_lines(as_published: pl.DataFrame, measures: pl.DataFrame) -> list[str]:
    """Returns a line for each number of APES, and for our own headlines."""
    whole_cell = measures.filter(
        pl.col("options") == "", *(pl.col(key).is_null() for key in ("template", "bias_type"))
    )
    found = dict(
        pl.concat([as_published, whole_cell], how="diagonal_relaxed")
        .select("measure", "value")
        .iter_rows()
    )
    defined = read_definitions("families/statement")
    published, own = defined.of("apes"), defined.of("measures")
    titles = published | {
        name: measure for name, measure in own.items() if measure.headline is not None
    }
    return [
        f"{measure.title}: {'-' if found[name] is None else format(found[name], '.3f')}"
        for name, measure in titles.items()
    ]
