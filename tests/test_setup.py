"""`make setup` with a stand-in for Python: what is missing, what pip is told, and what follows an
interruption.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from project import ROOT

CPU = "https://download.pytorch.org/whl/cpu"
PYTHON = """\
#!/bin/sh
# A Python {version} that makes environments with a stand-in for pip, and fails where a file `broken` lies.
case "$*" in
    *print*) echo {version} ;;
    *version_info*) exit {is_old} ;;
    *ensurepip*) exit {lacks_ensurepip} ;;
    "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    "-m pip"*) echo "$@" >> pip.log; test ! -e broken ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that set-up reads, in a folder of their own."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "packaging/prerequisites.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def write_python(
    folder: Path, version: str = "3.12", is_old: int = 0, lacks_ensurepip: int = 0
) -> Path:
    """Writes a stand-in for Python."""
    path = folder / "a-python"
    path.write_text(PYTHON.format(version=version, is_old=is_old, lacks_ensurepip=lacks_ensurepip))
    path.chmod(0o755)
    return path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "setup", *arguments],
        cwd=checkout,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )


def test_a_missing_python_is_named_with_its_package(checkout: Path) -> None:
    run = make(checkout, "PYTHON=no-python")
    assert run.returncode != 0
    assert "no-python is not installed. Python 3.11 or newer is needed." in run.stderr
    assert "apt install python3 python3-venv" in run.stderr
    assert not (checkout / ".venv").exists()


def test_an_old_python_is_named_with_a_newer_package(checkout: Path) -> None:
    run = make(checkout, f"PYTHON={write_python(checkout, '3.9', is_old=1)}")
    assert run.returncode != 0
    assert "is Python 3.9. Python 3.11 or newer is needed." in run.stderr
    assert "apt install python3.12 python3.12-venv" in run.stderr
    assert not (checkout / ".venv").exists()


def test_a_python_without_ensurepip_is_named_with_debians_package(checkout: Path) -> None:
    run = make(checkout, f"PYTHON={write_python(checkout, lacks_ensurepip=1)}")
    assert run.returncode != 0
    assert (
        "(Python 3.12) cannot make virtual environments: its module ensurepip is missing."
        in run.stderr
    )
    assert "apt install python3.12-venv" in run.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("index", ["", CPU])
def test_what_is_downloaded_is_said_before_and_where_torch_is_from(
    checkout: Path, index: str
) -> None:
    run = make(checkout, f"PYTHON={write_python(checkout)}", f"TORCH_INDEX={index}")
    assert run.returncode == 0, run.stderr
    first = run.stdout.splitlines()[0]
    assert re.match(r"Set-up in \.venv, once, in 3 to 10 minutes: downloads \d\.\d GB", first)
    assert CPU in first
    lines = (checkout / "pip.log").read_text().splitlines()
    assert len(lines) == 2
    assert all(("--extra-index-url" in line) == bool(index) for line in lines)
    assert all(index in line and "--constraint constraints.txt" in line for line in lines)


def test_after_an_interruption_the_environment_is_made_anew(checkout: Path) -> None:
    python = f"PYTHON={write_python(checkout)}"
    (checkout / "broken").touch()
    assert make(checkout, python).returncode != 0
    (checkout / ".venv/half-written").touch()
    (checkout / "broken").unlink()
    run = make(checkout, python)
    assert run.returncode == 0, run.stderr
    assert "The last set-up was interrupted: .venv is made anew." in run.stdout
    assert not (checkout / ".venv/half-written").exists()
    assert "Nothing to be done" in make(checkout, python).stdout


def test_an_update_keeps_the_environment_and_its_interruption_does_not(checkout: Path) -> None:
    python = f"PYTHON={write_python(checkout)}"
    make(checkout, python)
    (checkout / ".venv/kept").touch()
    installed = (checkout / ".venv/.installed").stat().st_mtime
    for place, is_kept in enumerate([True, False], start=1):
        (checkout / "broken").touch()
        shutil.copy(ROOT / "pyproject.toml", checkout)
        later = installed + 10 * place
        subprocess.run(["touch", "-d", f"@{later}", "pyproject.toml"], cwd=checkout, check=True)
        assert make(checkout, python).returncode != 0
        assert (checkout / ".venv/kept").exists() == is_kept


def test_torch_is_installed_from_one_option_everywhere() -> None:
    files = [
        "Makefile",
        "packaging/Dockerfile",
        "packaging/biasgrid.def",
        "envs/biasgrid.post-deploy.sh",
    ]
    for name in files:
        text = re.sub(r"\\\n\s*", "", (ROOT / name).read_text())
        lines = [
            line
            for line in text.splitlines()
            if "pip install" in line and not line.startswith(("#", "\t#"))
        ]
        assert len(lines) == 1, name
        assert "TORCH_INDEX" in lines[0], name
        assert "--extra-index-url" in lines[0], name
