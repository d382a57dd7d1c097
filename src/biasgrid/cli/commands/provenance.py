"""The command that prints who made a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import print_text, report_errors


def provenance(
    file: Annotated[
        Path, typer.Argument(help="a table of the results, such as results/summary.parquet")
    ],
) -> None:
    """Prints what made a table, as JSON: code, config, inputs, models, precision, machine."""
    from biasgrid.tables.files import read_provenance

    with report_errors():
        # A CSV has no place for it; the Parquet table beside it has.
        table_path = file.with_suffix(".parquet")
        file = table_path if file.suffix == ".csv" and table_path.exists() else file
        if file.suffix != ".parquet":
            raise UserError(
                f"{file}: not a table; expected a .parquet file of the results (`manifest.json` "
                "there says what made each cell)"
            )
        if not file.exists():
            raise UserError(f"there is no {file}; expected a table of the results")
        facts = read_provenance(file, anywhere=True)
    print_text(json.dumps(facts, indent=2))
