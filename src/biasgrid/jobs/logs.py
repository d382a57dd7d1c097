"""Logs of the workflow's scripts."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from traceback import format_exception
from types import TracebackType

from biasgrid.base.faults import UserError, out_of_memory
from biasgrid.base.files import explain_refusal
from biasgrid.base.names import visible_text
from biasgrid.jobs.interruption import interrupt_at_sigterm


class LogFile(logging.FileHandler):
    """A log file. If the disk is full, lines are lost, and the terminal gets one message of it."""

    has_lost_lines = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Drops a line that cannot be written."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self.has_lost_lines:
            self.has_lost_lines = True
            sys.stderr.write(
                f"{self.baseFilename}: lines of this log were lost ({error.strerror})\n"
            )


class VisibleLines(logging.Formatter):
    """Formats lines with invisible characters made visible.

    Lines quote texts of models and users, whose control characters a terminal would obey.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Returns a line."""
        return visible_text(super().format(record))


def start_log(path: str) -> None:
    """Sends log lines to a rule's log file, and errors also to the terminal: see `log_exception`.

    From now on SIGTERM raises an exception, so that it is logged as well.

    Raises:
        UserError: the file cannot be made.
    """
    sys.excepthook = log_exception
    interrupt_at_sigterm()
    with explain_refusal(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        log = LogFile(path, mode="w")
    log.setFormatter(VisibleLines("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[log], level=logging.INFO)
    logging.captureWarnings(True)


def log_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Logs an exception that ends a script, and shows it on the terminal.

    A user's error is shown without a traceback. Only failures are logged as CRITICAL, because
    `biasgrid status` knows failed jobs by such a line (see `runs.failures`), until the next run of
    the job begins the log anew.
    """
    shortage = out_of_memory(error)
    if shortage is not None:
        logging.info("memory ran out here:", exc_info=(kind, error, trace))
        error = shortage
    if isinstance(error, KeyboardInterrupt):
        logging.warning("interrupted")
        sys.stderr.write("interrupted\n")
    elif isinstance(error, UserError):
        logging.critical(error)
        sys.stderr.write(f"{error}\n")
    else:
        logging.critical("failed", exc_info=(kind, error, trace))
        sys.stderr.write(visible_text("".join(format_exception(kind, error, trace))))
