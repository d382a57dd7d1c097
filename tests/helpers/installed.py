"""The package as a wheel in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from project import ROOT


def install_wheel(folder: Path) -> None:
    """Makes an environment with the wheel, and all else from the one of the tests, so that nothing
    is downloaded.
    """
    folder.mkdir()
    pip = [sys.executable, "-m", "pip"]
    build = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
    )
    (site,) = (folder / "venv/lib").glob("python*/site-packages")
    # A plain line of a .pth file adds a folder, but not what the .pth files in that folder name: no
    # editable biasgrid.
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    target = [
        "--python",
        str(folder / "venv/bin/python"),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run([*pip, *target], check=True)


def run_installed(folder: Path, *line: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command in a folder, as a user whose environment names no other package."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, line)), cwd=folder, env=environment, text=True, capture_output=True
    )
