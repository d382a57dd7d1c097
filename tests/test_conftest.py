"""Pytest starts soon: what every run imports is light, however few tests it runs."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
HEAVY = {
    "hypothesis",
    "pandera",
    "pandas",
    "playwright",
    "polars",
    "scipy",
    "sklearn",
    "torch",
    "transformers",
}


def test_conftest_imports_nothing_heavy() -> None:
    code = (
        f"import sys; sys.path.append({str(TESTS / 'helpers')!r}); "
        "import conftest; print(*sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=TESTS, capture_output=True, text=True, check=True
    )
    assert "conftest" in run.stdout.split()
    assert HEAVY & {*run.stdout.split()} == set()
