"""Logs of the workflow's scripts."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import TracebackType

from biasgrid.faults import UserError


def start_log(path: str) -> None:
    """Sends log lines to a rule's log file; errors go to the terminal too, those of users without a traceback."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(filename=path, filemode="w", level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.captureWarnings(True)
    sys.excepthook = log_exception


def log_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Logs an exception that ends a script, and shows it on the terminal."""
    if isinstance(error, UserError):
        logging.error(error)
        sys.stderr.write(f"{error}\n")
    else:
        logging.error("failed", exc_info=(kind, error, trace))
        sys.__excepthook__(kind, error, trace)
