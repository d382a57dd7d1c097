"""What is added runs nothing again of what is there: digests of all rules on a copy of the
package.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ROOT

from biasgrid.base.references import stage_module
from biasgrid.config.registry import BUILT_IN
from biasgrid.inference.models.registry import BACK_ENDS, code_references
from biasgrid.jobs import code_digest as digests
from biasgrid.report.figures.registry import figures

SCRIPTS = ROOT / "workflow" / "scripts"
STAGES = {
    "expand": "expand",
    "measure": "measures",
    "statistics": "measures",
    "synthetic": "synthetic",
}
"""Rules whose script finds a module of each family, and that module; not every family can be put
in.
"""
EVERY_FAMILY = [
    (rule, family)
    for rule in STAGES
    for family in BUILT_IN.families
    if rule != "synthetic" or BUILT_IN.family(family).is_synthetic
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package, to be added to."""
    copy = shutil.copytree(
        digests.PACKAGE_FOLDER, tmp_path / "biasgrid", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setattr(digests, "PACKAGE_FOLDER", Path(copy))
    yield Path(copy)
    digests.read_code.cache_clear()


def digests_of_rules() -> dict[tuple[str, ...], str]:
    """The digests of all rules, by rule and what it is of: a family, a task, a figure or
    nothing.
    """
    digests.read_code.cache_clear()
    asked: dict[tuple[str, ...], list[str]] = {(path.stem,): [] for path in SCRIPTS.glob("*.py")}
    asked |= {
        (rule, family): [stage_module(BUILT_IN.families[family], STAGES[rule])]
        for rule, family in EVERY_FAMILY
    }
    asked |= {
        ("predict", task): code_references(entry, entry.answers[0])
        for (task, source), entry in BACK_ENDS.items()
        if source == "weights"
    }
    asked |= {("plot", name): [module] for name, module in figures().items()}
    return {
        key: digests.code_digest(SCRIPTS / f"{key[0]}.py", *modules)
        for key, modules in asked.items()
    }


def changed_by(package: Path, path: str, old: str, new: str) -> set[tuple[str, ...]]:
    """Which rules have another digest after an edit, or with something added to a file, new or
    not.
    """
    before = digests_of_rules()
    file = package / path
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text() if file.exists() else ""
    assert old in text
    file.write_text(text.replace(old, new, 1) if old else text + new)
    after = digests_of_rules()
    return {key for key in before if before[key] != after[key]}


@pytest.mark.parametrize(
    "path",
    [
        "families/another/expand.py",
        "tables/answers/another.py",
        "report/figures/cells/another.py",
        "inference/models/another.py",
    ],
)
def test_another_family_answer_kind_figure_or_back_end_runs_nothing_again(
    package: Path, path: str
) -> None:
    assert changed_by(package, path, "", "VALUE = 1\n") == set()


def test_another_score_only_measures_again(package: Path) -> None:
    changed = changed_by(package, "groups/scores.py", "", "ANOTHER = 1\n")
    assert changed <= {
        (rule, family) for rule in ("measure", "statistics") for family in BUILT_IN.families
    }


def test_a_figure_is_drawn_again_with_its_caption(package: Path) -> None:
    assert changed_by(
        package, "report/figures/associations/ranks.py", "CAPTION =", "ANOTHER = 1\nCAPTION ="
    ) == {("plot", "ranks")}
