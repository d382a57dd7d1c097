"""Results of an earlier version: which of their tables are made again because names have changed."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from biasgrid.base.renamed import RENAMED_COLUMNS, RENAMED_FOLDERS, VERSION

PAID = "answers of servers, downloaded weights and trained models are kept"


def upgrade_notice(results: Path) -> str | None:
    """Says which tables a run makes again because they have names of before.

    Args:
        results: the folder of results.

    Returns:
        Two sentences for the terminal; None where no table has an old name.
    """
    tables = {path.relative_to(results).parts[0]: path for path in sorted(results.glob("[!.]*/**/*.parquet"))}
    renamed = {folder: old for folder, path in tables.items() if (old := old_columns(path))}
    unused = sorted(name for name in RENAMED_FOLDERS if (results / name).is_dir())
    if not renamed and not set(unused) & tables.keys():
        return None
    columns = sorted({name for names in renamed.values() for name in names})
    what = f" ({', '.join(f'{name} is {RENAMED_COLUMNS[name]}' for name in columns)})" if columns else ""
    again = ", ".join(sorted(renamed.keys() - set(unused))) or "the tables of these folders"
    folders = ", ".join(f"{name}/ (now {RENAMED_FOLDERS[name]}/)" for name in unused)
    rest = f" No longer used, and yours to remove: {folders}." if unused else ""
    return (
        f"{results} was made by an earlier version. Since {VERSION} columns have other names{what}: made again are "
        f"{again}; {PAID}.{rest}"
    )


def old_columns(path: Path) -> list[str]:
    """Returns the columns of a table that have names of before; none of a table that cannot be read."""
    try:
        return [name for name in pl.read_parquet_schema(path) if name in RENAMED_COLUMNS]
    except (OSError, pl.exceptions.PolarsError):
        return []
