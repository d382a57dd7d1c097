"""The command that prints the config's schema and writes what is generated from the code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import print_text, report_errors


def schema(
    write: Annotated[
        Path | None,
        typer.Option(help="root of the repository; writes its schema, captions and tables"),
    ] = None,
) -> None:
    """Prints the config's JSON schema. --write writes the schema, the figures' captions and the
    tables in the docs.
    """
    from biasgrid.cli.docs import DOCUMENTS, generate_document
    from biasgrid.config.docs import config_schema
    from biasgrid.report.figures.registry import captions_file

    text = json.dumps(config_schema(), indent=2) + "\n"
    if write is None:
        print_text(text, nl=False)
        return
    path, captions = (
        write / "workflow" / name for name in ("schemas/config.schema.json", "report/figure.rst")
    )
    documents = [write / name for name in DOCUMENTS]
    with report_errors():
        for needed in (path.parent, captions.parent, *documents):
            if not needed.exists():
                raise UserError(
                    f"there is no {needed}; run this in the root of the repository, or "
                    "give its folder"
                )
    path.write_text(text)
    captions.write_text(captions_file(), encoding="utf-8")
    for document in documents:
        document.write_text(generate_document(document), encoding="utf-8")
