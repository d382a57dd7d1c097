"""Tests are skipped for the reasons in `needs` alone, and where everything is required for hardly
any of these.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import needs
import pytest

TESTS = Path(__file__).parent
SKIPS = re.compile(r"pytest\.skip\(|skipif\(|importorskip\(|mark\.skip\b")
SKIPPING = """
import needs
import pytest

unmet = needs.Need("a unicorn", "look in the forest", lambda: False)

@unmet.mark
def test_marked(): ...

def test_required():
    unmet.require()

@pytest.fixture
def unicorn():
    unmet.skip("the forest is empty")

def test_of_a_fixture(unicorn): ...

def test_not_shipped():
    pytest.skip(needs.bbq.reason + " (no data/Age.jsonl)")

@pytest.mark.xfail
def test_expected_to_fail():
    raise AssertionError

def test_plain(): ...
"""
WHOLE_MODULE = "import pytest\npytest.skip('needs a unicorn', allow_module_level=True)\n"
WITHOUT_CASES = (
    "import pytest\n"
    "@pytest.mark.parametrize('case', [])\n"
    "def test_of_cases(case): ...\n"
    "def test_plain(): ...\n"
)


def run_pytest(file: Path, **environment: str) -> str:
    """What pytest prints of a file in a folder of its own, with our conftest as a plugin and our
    settings.
    """
    paths = os.pathsep.join([str(TESTS), str(TESTS / "helpers")])
    known = {
        name: value
        for name, value in os.environ.items()
        if name not in (needs.REQUIRE_ALL, "PYTEST_ADDOPTS")
    }
    line = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        str(TESTS.parent / "pyproject.toml"),
        f"--rootdir={file.parent}",
    ]
    line += ["-p", "conftest", "-p", "no:cacheprovider", "-rsf", "--no-header", str(file)]
    run = subprocess.run(
        line,
        cwd=file.parent,
        env=known | {"PYTHONPATH": paths} | environment,
        capture_output=True,
        text=True,
    )
    return run.stdout + run.stderr


@pytest.fixture
def skipping(tmp_path: Path) -> Path:
    file = tmp_path / "test_skipping.py"
    file.write_text(SKIPPING)
    return file


@pytest.mark.slow
def test_a_skip_names_what_is_needed_and_how_to_get_it(skipping: Path) -> None:
    said = run_pytest(skipping)
    assert "1 passed, 4 skipped, 1 xfailed" in said
    assert "needs a unicorn; to get it: look in the forest" in said
    assert "needs a unicorn; to get it: look in the forest (the forest is empty)" in said


@pytest.mark.slow
def test_where_everything_is_required_a_skip_fails_unless_it_is_allowed(skipping: Path) -> None:
    said = run_pytest(skipping, **{needs.REQUIRE_ALL: "1"})
    # A skip before a test begins is an error, one within it a failure.
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors" in said
    for name in ("test_marked", "test_required", "test_of_a_fixture"):
        assert (
            f"BIASGRID_REQUIRE_ALL=1, but test_skipping.py::{name} was skipped: needs a unicorn"
            in said
        )


@pytest.mark.slow
def test_where_everything_is_required_a_module_that_is_skipped_fails(tmp_path: Path) -> None:
    file = tmp_path / "test_whole.py"
    file.write_text(WHOLE_MODULE)
    assert "1 skipped" in run_pytest(file)
    said = run_pytest(file, **{needs.REQUIRE_ALL: "1"})
    assert "BIASGRID_REQUIRE_ALL=1, but test_whole.py was skipped: needs a unicorn" in said
    assert "1 error" in said


@pytest.mark.slow
def test_a_parametrised_test_without_cases_fails(tmp_path: Path) -> None:
    file = tmp_path / "test_cases.py"
    file.write_text(WITHOUT_CASES)
    assert "Empty parameter set in 'test_of_cases'" in run_pytest(file)


def test_tests_are_skipped_by_needs_alone() -> None:
    own = {TESTS / "helpers/needs.py", Path(__file__)}
    files = [file for file in TESTS.rglob("*.py") if file not in own]
    found = {
        str(file.relative_to(TESTS))
        for file in files
        if SKIPS.search(file.read_text(encoding="utf-8"))
    }
    assert found == set()
    assert len(files) > 300


def test_only_files_of_others_may_be_missing_where_everything_is_required() -> None:
    allowed = {need.what for need in needs.NEEDS if need.absence}
    assert allowed == {
        need.what for need in (needs.apes, needs.bbq, needs.crows_pairs, needs.langfair_tests)
    }
    assert needs.is_allowed(f"{needs.bbq.reason} (no data/Age.jsonl)")
    assert not needs.is_allowed(needs.chromium.reason)
    assert len({need.reason for need in needs.NEEDS}) == len(needs.NEEDS) > 10
