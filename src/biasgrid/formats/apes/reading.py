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
from biasgrid.families.statement.apes import apes_error_rates
from biasgrid.families.statement.ask import CANDIDATES, KEYS, LIST_COLUMNS
from biasgrid.families.statement.family import PROMPT
from biasgrid.families.statement.measure import measure
from biasgrid.families.statement.observe import observe
from biasgrid.families.statement.pack import STATEMENT, STATEMENT_LABELS
from biasgrid.formats.apes.export import (
    ANSWER_COLUMNS,
    PARAMETER_COLUMN,
    QUESTION,
    examples_columns,
)
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import ASKED_BEFORE
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.keys import Repetitions, digest_rows
from biasgrid.tables.measures import MEASURES, cell_table
from biasgrid.tables.metric import read_definitions
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

APES_FILE = (
    "predictions of APES: a CSV file with template_id, param_1_name, ..., prompt, label, "
    "prediction and confidence"
)
IMPORT_OPTIONS = {"measures": None, "failure_threshold": 0.1, "mode": None}
APES_COLUMNS = {"apes_positive": "positive", "apes_negated": "negated", "apes_overall": "overall"}


def import_predictions(path: Path, folder: Path) -> list[str]:
    """Reads a `predictions.csv`, and writes its instances, answers, measures and APES's own table.

    Args:
        path: the file.
        folder: the folder to write to, which is made if it is missing.

    Returns:
        Lines for the terminal: the numbers, and the files that were written.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    rows, parameters = read_predictions(path)
    instances = make_instances(rows, parameters)
    predictions = make_predictions(rows, instances)
    observations = observe(instances, predictions, IMPORT_OPTIONS)
    own = measured_values(measure, observations, IMPORT_OPTIONS)
    # APES compares texts, so an answer such as "yes" is wrong.
    is_wrong = rows["prediction"] != rows["label"]
    as_published = apes_error_rates(is_wrong).with_columns(options=pl.lit(""))
    measures = pl.concat([own, as_published], how="diagonal_relaxed")
    tables = {
        "instances": (instances, schema_of_instances(KEYS, instances.schema)),
        "predictions": (predictions, answer_schema("choice")),
        "measures": (cell_table(measures, MEASURES, path.stem, "apes"), MEASURES),
    }
    facts = table_provenance(parameters=parameters, prompt=PROMPT, predictions=path.name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (table, schema) in tables.items():
        write_table(table, folder / f"{name}.parquet", schema, facts)
    values = as_published.select("measure", "value").iter_rows()
    columns = {APES_COLUMNS[name]: [value] for name, value in values}
    with whole_file(folder / "apes.csv") as partial:
        pl.DataFrame(columns).write_csv(partial)
    file_lines = [f"{folder / name}.parquet written." for name in tables]
    return [*report_lines(as_published, own), *file_lines]


def read_predictions(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Reads the rows of a file as texts; an empty cell is an empty text.

    Returns:
        The rows, in columns of `examples_columns` and `ANSWER_COLUMNS`, and the numbers of the
        parameters, such as "1".

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    try:
        frame = pd.read_csv(StringIO(read_text(path, APES_FILE)), dtype=str, keep_default_na=False)
    except ValueError as error:
        problem = f"cannot be read by pandas ({error})"
        raise InputError([Fault(str(path), "", problem, APES_FILE)]) from None
    matches = [PARAMETER_COLUMN.fullmatch(name) for name in frame.columns]
    parameters = [match[1] for match in matches if match]
    columns = [*examples_columns(parameters), *ANSWER_COLUMNS]
    faults = [
        Fault(str(path), "line 1", f"there is no column {name}", APES_FILE)
        for name in columns
        if name not in frame
    ]
    if not faults and frame.empty:
        faults = [Fault(str(path), "", "contains no predictions", APES_FILE)]
    if faults:
        raise InputError(faults)
    check_confidence(path, frame["confidence"].to_list())
    rows = pl.DataFrame(
        {name: frame[name].to_list() for name in columns},
        schema=dict.fromkeys(columns, pl.String),
    )
    return rows, parameters


def check_confidence(path: Path, confidence: Sequence[str]) -> None:
    """Raises InputError for the first confidence that is neither a number from 0 to 1 nor empty."""
    # Line 1 is the header.
    for line_number, text in enumerate(confidence, start=2):
        if text and not is_share(text):
            line = f"line {line_number}"
            problem = f"confidence is {text!r}"
            raise InputError([Fault(str(path), line, problem, "a number from 0 to 1, or nothing")])


def is_share(text: str) -> bool:
    """Whether a text is a number in 0..1."""
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def make_instances(rows: pl.DataFrame, parameters: Sequence[str]) -> pl.DataFrame:
    """Converts rows to instances.

    APES writes the negated statements after all others, in the same order. Row i and row half + i
    are therefore a pair, if both halves have the same names; otherwise `pair` is null throughout.
    Rows of the second half count as negated in any case.

    Args:
        rows: from `read_predictions`.
        parameters: the numbers of its parameters.
    """
    half = len(rows) // 2
    names = [f"param_{number}_name" for number in parameters]
    plain_names, negated_names = rows[:half].select(names), rows[half:].select(names)
    is_paired = len(rows) % 2 == 0 and plain_names.equals(negated_names)
    position = pl.int_range(pl.len())
    pair = position % half if is_paired else pl.lit(None)
    before, behind = PROMPT.split(STATEMENT)
    text = pl.lit(before) + pl.col("prompt").str.strip_suffix(QUESTION) + pl.lit(behind)
    candidates = {}
    for name, label in zip(CANDIDATES, STATEMENT_LABELS, strict=True):
        candidates[name] = pl.lit(label, pl.Categorical)
    table = rows.with_columns(
        instance=position.cast(pl.UInt32),
        system=pl.lit(None, pl.Categorical),
        text=text,
        text_pair=pl.lit(None, pl.Categorical),
        **candidates,
        template=pl.col("template_id").rle_id().cast(pl.UInt16),
        pair=pair.cast(pl.UInt32),
        negated=position >= half,
        repetition=pl.lit(0, pl.UInt16),
        names=list_column([pl.col(name) for name in names]),
        classes=list_column([pl.col(f"param_{parameter}_class") for parameter in parameters]),
        domains=list_column([parameter_domain(parameter) for parameter in parameters]),
    )
    columns = schema_of_instances(KEYS, table.schema).columns
    types = {name: column.dtype.type for name, column in columns.items() if name != ASKED_BEFORE}
    cast_columns = (*LIST_COLUMNS, "template_id", "label")
    typed_table = table.select(list(types)).cast({name: types[name] for name in cast_columns})
    asked_before = Repetitions().asked_before(digest_rows(typed_table))
    return typed_table.with_columns(asked_before).select(list(columns))


def list_column(columns: Sequence[pl.Expr]) -> pl.Expr:
    """Returns a column of lists, each with the texts of a row; empty lists without columns."""
    # `concat_list` refuses an empty sequence.
    return pl.concat_list(columns) if columns else pl.lit([], pl.List(pl.String))


def parameter_domain(parameter: str) -> pl.Expr:
    """Returns the domain of a parameter, one for each; empty for a row without a value."""
    has_value = pl.col(f"param_{parameter}_name") != ""
    return pl.when(has_value).then(pl.lit(f"param_{parameter}")).otherwise(pl.lit(""))


def make_predictions(rows: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Converts rows to predictions.

    `probabilities` has the confidence for the answer and null for the other one; both are null for
    an answer that is neither Yes nor No.
    """
    prediction = pl.col("prediction")
    confidence = pl.col("confidence").replace("", None).cast(pl.Float32)
    probabilities = [pl.when(prediction == label).then(confidence) for label in STATEMENT_LABELS]
    status = pl.when(prediction == "").then(pl.lit("empty")).otherwise(pl.lit("ok"))
    table = rows.with_columns(
        instances["instance"],
        probabilities=pl.concat_list(probabilities),
        response=prediction,
        status=status,
    )
    types = {name: column.dtype.type for name, column in answer_schema("choice").columns.items()}
    missing = [pl.lit(None).alias(name) for name in types if name not in table.columns]
    return table.with_columns(missing).select(list(types)).cast(types)


def report_lines(as_published: pl.DataFrame, measures: pl.DataFrame) -> list[str]:
    """Returns a line for each number of APES and for each headline of ours; `-` without a value."""
    whole_cell = measures.filter(
        pl.col("options") == "", pl.col("template").is_null(), pl.col("bias_type").is_null()
    )
    rows = pl.concat([as_published, whole_cell], how="diagonal_relaxed")
    values = dict(rows.select("measure", "value").iter_rows())
    definitions = read_definitions("families/statement")
    own = definitions.select("measures")
    headlines = {name: measure for name, measure in own.items() if measure.headline is not None}
    lines = []
    for name, definition in (definitions.select("apes") | headlines).items():
        value = values[name]
        lines.append(f"{definition.title}: {'-' if value is None else format(value, '.3f')}")
    return lines
