"""Built-in families are found as those of plugins are: by entry points, of a checkout and of an
installed package.
"""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from biasgrid.base.faults import UserError
from biasgrid.config import registry

ROOT = Path(__file__).parents[2]
SHOW = "from biasgrid.config.registry import BUILT_IN; print(*BUILT_IN.families)"


def families_in(folder: Path) -> list[str]:
    """What a process finds whose package stands in a folder."""
    run = subprocess.run(
        [sys.executable, "-c", SHOW],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def test_built_in_families_are_plugins_that_can_be_used_and_have_places_of_their_own() -> None:
    references = [point.value for point in registry.own_entry_points()]
    assert sorted(references) == sorted(registry.BUILT_IN.families.values())
    places = [registry.BUILT_IN.family(name).place for name in registry.BUILT_IN.families]
    assert places == sorted({*places})
    for reference in references:
        registry.Plugin(reference, registry.import_plugin(reference)).check()


def test_a_checkout_has_its_own_entry_points_regardless_of_installed_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert registry.PROJECT_FILE == ROOT / "pyproject.toml"
    project, table = (
        tmp_path / "pyproject.toml",
        '[project.entry-points."biasgrid.plugins"]\nown = "own.family"\n',
    )
    monkeypatch.setattr(registry, "PROJECT_FILE", project)
    project.write_text(f'[project]\nname = "biasgrid"\n{table}')
    assert [(point.name, point.value) for point in registry.own_entry_points()] == [
        ("own", "own.family")
    ]
    # A project of a user's own, in whose folder the package happens to be.
    project.write_text(f'[project]\nname = "other"\n{table}')
    assert "own" not in [point.name for point in registry.own_entry_points()]


@pytest.mark.slow
def test_a_wheel_has_the_families_in_the_same_order(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(tmp_path),
    ]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    ZipFile(wheel).extractall(tmp_path / "installed")
    assert families_in(tmp_path / "installed") == list(registry.BUILT_IN.families)


def test_a_package_without_its_entry_points_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "BUILT_IN", registry.Registry({}, {}, {}))
    with pytest.raises(
        UserError,
        match="without its entry points, so it finds no family of datasets; install it with pip",
    ):
        registry.load_registry([], "c.yaml")
