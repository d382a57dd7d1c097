import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid import code_digest as digests


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, to be edited."""
    copy = shutil.copytree(digests.PACKAGE, tmp_path / "biasgrid", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(digests, "PACKAGE", Path(copy))
    return Path(copy)


@pytest.fixture
def digest(package: Path) -> Callable[[str], str]:
    """Digests modules as they are now; files are parsed once in a process."""

    def now(module: str) -> str:
        digests.parse.cache_clear()
        return digests.code_digest(digests.file_of(module))

    return now


@pytest.fixture(autouse=True)
def forget_copies() -> object:
    yield
    digests.parse.cache_clear()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_comments_docstrings_and_layout_do_not_count(package: Path, digest: Callable[[str], str]) -> None:
    before = digest("models.predict")
    file = package / "models" / "spans.py"
    edit(file, '"""Where candidates lie', '"""Where, oh where, candidates lie')
    edit(file, '    """Finds the tokens', '    """Looks for the tokens')
    edit(file, "DETERMINERS =", "# the articles\n\nDETERMINERS  =")
    assert digest("models.predict") == before


@pytest.mark.parametrize(
    "edited", ["models/predict.py", "models/spans.py", "models/encoding.py", "tables/predictions.py"]
)
def test_code_counts_wherever_it_is_imported_from(package: Path, digest: Callable[[str], str], edited: str) -> None:
    before = digest("models.predict")
    with (package / edited).open("a") as file:
        file.write("\nUNUSED = 1\n")
    assert digest("models.predict") != before


@pytest.mark.parametrize("edited", ["families/underspecified/measures.py", "tables/measures.py"])
def test_code_that_a_stage_does_not_import_does_not_count(
    package: Path, digest: Callable[[str], str], edited: str
) -> None:
    before, of_measures = digest("models.predict"), digest("families.underspecified.measures")
    with (package / edited).open("a") as file:
        file.write("\nUNUSED = 1\n")
    assert digest("models.predict") == before
    assert digest("families.underspecified.measures") != of_measures


def test_imports_within_functions_and_of_modules_are_followed(package: Path, digest: Callable[[str], str]) -> None:
    (package / "outer.py").write_text("def run():\n    from biasgrid.inner import value\n    return value\n")
    (package / "inner.py").write_text("from biasgrid.models import spans\nvalue = 1\n")
    assert {"inner", "models.spans", "models.encoding"} <= digests.reachable(digests.file_of("outer"))
    before = digest("outer")
    (package / "inner.py").write_text("value = 2\n")
    assert digest("outer") != before


def test_descriptions_and_messages_do_not_count(package: Path, digest: Callable[[str], str]) -> None:
    before = digest("models.predict")
    edit(package / "tables" / "instances.py", 'description="row number', 'description="number of the row')
    edit(package / "progress.py", "rows/s", "rows per second")
    edit(package / "models" / "fill_mask.py", '"""UnQover keeps', '"""The original keeps')
    assert digest("models.predict") == before


def test_what_a_refused_download_says_does_not_count(package: Path, digest: Callable[[str], str]) -> None:
    before = digest("models.fetch")
    edit(package / "models" / "hub.py", "the repository is gated", "this repository is gated")
    assert digest("models.fetch") == before
    edit(package / "models" / "checkpoint_files.py", '"merges.txt"', '"merge.txt"')
    assert digest("models.fetch") != before


def test_a_value_in_a_docstrings_place_counts(package: Path, digest: Callable[[str], str]) -> None:
    (package / "stage.py").write_text("def run():\n    return 1\n")
    before = digest("stage")
    (package / "stage.py").write_text("def run():\n    return 2\n")
    assert digest("stage") != before


def test_stages_have_digests_of_their_own() -> None:
    scripts = sorted(Path("workflow/scripts").glob("*.py"))
    assert len({digests.code_digest(script) for script in scripts}) == len(scripts) > 8
