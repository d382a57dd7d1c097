import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from biasgrid.inference.models.registry import BACK_ENDS, code_references
from biasgrid.jobs import code_digest as digests

WEIGHTS = {
    task: code_references(entry, entry.answers[0])
    for (task, source), entry in BACK_ENDS.items()
    if source == "weights"
}
"""The modules that answer each task."""
OF_ANSWERS = WEIGHTS["question-answering"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, to be edited."""
    copy = shutil.copytree(
        digests.PACKAGE_FOLDER, tmp_path / "biasgrid", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setattr(digests, "PACKAGE_FOLDER", Path(copy))
    return Path(copy)


@pytest.fixture
def digest(package: Path) -> Callable[..., str]:
    """Digests modules as they are now; files are parsed once in a process."""

    def now(module: str, *others: str) -> str:
        digests.read_code.cache_clear()
        return digests.code_digest(digests.module_file(module), *others)

    return now


@pytest.fixture(autouse=True)
def forget_copies() -> object:
    yield
    digests.read_code.cache_clear()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_comments_docstrings_and_blank_lines_do_not_count(
    package: Path, digest: Callable[..., str]
) -> None:
    before = digest("inference.models.predict", *OF_ANSWERS)
    file = package / "inference/models/extractive/candidates.py"
    edit(file, '"""The tokens of', '"""All tokens of')
    edit(file, '    """Finds the tokens', '    """Looks for the tokens')
    edit(file, "DETERMINERS =", "# the articles\n\n\nDETERMINERS =")
    assert digest("inference.models.predict", *OF_ANSWERS) == before


@pytest.mark.parametrize(
    "edited",
    [
        "inference/models/predict.py",
        "inference/models/extractive/candidates.py",
        "inference/engine/encoding.py",
        "tables/answers/span.py",
    ],
)
def test_code_counts_wherever_it_is_imported_from(
    package: Path, digest: Callable[..., str], edited: str
) -> None:
    before = digest("inference.models.predict", *OF_ANSWERS)
    with (package / edited).open("a") as file:
        file.write("\nUNUSED = 1\n")
    assert digest("inference.models.predict", *OF_ANSWERS) != before


@pytest.mark.parametrize("task", WEIGHTS)
def test_another_back_end_or_answer_kind_changes_no_digest(
    package: Path, digest: Callable[..., str], task: str
) -> None:
    before = digest("inference.models.predict", *WEIGHTS[task])
    entry = (
        "BACK_ENDS = {\n"
        '    ("another", '
        '"weights"): Entry("biasgrid.inference.models.another:Another", ("sound",)),'
    )
    edit(package / "inference/models/registry.py", "BACK_ENDS = {", entry)
    (package / "inference/models/another.py").write_text("class Another: ...\n")
    (package / "tables" / "answers" / "sound.py").write_text("SCHEMA = None\n")
    assert digest("inference.models.predict", *WEIGHTS[task]) == before


def test_back_ends_change_the_digests_of_their_own_tasks_alone(
    package: Path, digest: Callable[..., str]
) -> None:
    before = {task: digest("inference.models.predict", *WEIGHTS[task]) for task in WEIGHTS}
    assert len(set(before.values())) == len(WEIGHTS)
    edit(
        package / "inference/models/masked/rows.py",
        "import numpy as np\n",
        "import numpy as np\n\nUNUSED = 1\n",
    )
    after = {task: digest("inference.models.predict", *WEIGHTS[task]) for task in WEIGHTS}
    assert [task for task in WEIGHTS if after[task] != before[task]] == ["fill-mask"]


@pytest.mark.parametrize("edited", ["groups/measures.py", "tables/sums.py"])
def test_code_that_a_stage_does_not_import_does_not_count(
    package: Path, digest: Callable[..., str], edited: str
) -> None:
    before, of_measures = digest("inference.models.predict"), digest("groups.measures")
    with (package / edited).open("a") as file:
        file.write("\nUNUSED = 1\n")
    assert digest("inference.models.predict") == before
    assert digest("groups.measures") != of_measures


def test_imports_within_functions_and_of_modules_are_followed(
    package: Path, digest: Callable[..., str]
) -> None:
    (package / "outer.py").write_text(
        "def run():\n    from biasgrid.inner import value\n    return value\n"
    )
    (package / "inner.py").write_text(
        "from biasgrid.inference.models.extractive import candidates\nvalue = 1\n"
    )
    assert {
        "inner",
        "inference.models.extractive.candidates",
        "inference.engine.segments",
    } <= digests.transitive_imports([digests.module_file("outer")], [])
    before = digest("outer")
    (package / "inner.py").write_text("value = 2\n")
    assert digest("outer") != before


def test_messages_do_not_count(package: Path, digest: Callable[..., str]) -> None:
    before = digest("inference.models.predict", *WEIGHTS["fill-mask"])
    edit(package / "jobs" / "progress.py", "rows/s", "rows per second")
    edit(
        package / "inference/models/masked/back_end.py",
        '"""Masked language models',
        '"""Models with a mask',
    )
    assert digest("inference.models.predict", *WEIGHTS["fill-mask"]) == before


def test_what_a_refused_download_says_does_not_count(
    package: Path, digest: Callable[..., str]
) -> None:
    before = digest("inference.checkpoints.fetch")
    edit(
        package / "inference/checkpoints/hub.py",
        "the repository is gated",
        "this repository is gated",
    )
    assert digest("inference.checkpoints.fetch") == before
    edit(package / "inference/checkpoints/files.py", '"merges.txt"', '"merge.txt"')
    assert digest("inference.checkpoints.fetch") != before


@pytest.mark.parametrize("folder", ["families", "groups"])
def test_definitions_count_where_their_words_are_read(
    package: Path, digest: Callable[..., str], folder: str
) -> None:
    before, of_others = digest("groups.definitions"), digest("groups.records")
    edit(package / folder / "measures.yaml", "title: ", "title: more ")
    assert digest("groups.definitions") != before
    assert digest("groups.records") == of_others


def test_definitions_do_not_count_where_params_have_what_they_decide(
    package: Path, digest: Callable[..., str]
) -> None:
    before = digest("groups.measures"), digest("inference.models.predict")
    for folder in ("families", "groups"):
        edit(package / folder / "measures.yaml", "title: ", "title: more ")
    assert (digest("groups.measures"), digest("inference.models.predict")) == before


def test_a_value_in_a_docstrings_place_counts(package: Path, digest: Callable[..., str]) -> None:
    (package / "stage.py").write_text("def run():\n    return 1\n")
    before = digest("stage")
    (package / "stage.py").write_text("def run():\n    return 2\n")
    assert digest("stage") != before


def test_stages_have_digests_of_their_own() -> None:
    scripts = sorted(Path("workflow/scripts").glob("*.py"))
    assert len({digests.code_digest(script) for script in scripts}) == len(scripts) > 8


CODE = """
LIMIT = 1
TEXT = \'\'\'
# not a comment

of a text
\'\'\'
def run():
    return print(
\'\'\'
An argument.
\'\'\'
    ), "# 1"
""".replace("'''", '"""')


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("def run():\n", "def run():  # why\n", False),
        ("def run():\n", 'def run():\n    """Runs."""\n', False),
        ("def run():\n", "\n\n# why\ndef run():\n", False),
        ("LIMIT = 1\n", 'LIMIT = 1\n"""Of rows."""\n', False),
        ("LIMIT = 1\n", "LIMIT = 2\n", True),
        ("# not a comment", "# no comment", True),
        ("\n\nof a text", "\nof a text", True),
        ("An argument.", "Another argument.", True),
        ('"# 1"', '"# 2"', True),
    ],
)
def test_only_comments_blank_lines_and_strings_that_are_statements_do_not_count(
    tmp_path: Path, old: str, new: str, counts: bool
) -> None:
    assert old in CODE
    script = tmp_path / "stage.py"
    script.write_text(CODE)
    before = digests.code_digest(script)
    script.write_text(CODE.replace(old, new))
    digests.read_code.cache_clear()
    assert (digests.code_digest(script) != before) is counts


def interpreters() -> list[str]:
    """All interpreters from 3.11 on that are there, on the path or of pyenv."""
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    folders += sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin"))
    found = {}
    for file in (folder / f"python3.{minor}" for folder in folders for minor in range(11, 20)):
        # Shims of pyenv are slow, and there for versions that are not.
        if file.exists() and file.parent.name != "shims":
            found.setdefault(file.name, str(file))
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("interpreter", interpreters())
def test_all_versions_of_python_give_one_digest(interpreter: str) -> None:
    scripts = sorted(str(path) for path in Path("workflow/scripts").glob("*.py"))
    program = (
        "import sys; from biasgrid.jobs.code_digest import "
        "code_digest; print(*map(code_digest, sys.argv[1:]))"
    )
    digested = subprocess.run(
        [interpreter, "-c", program, *scripts],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(digests.PACKAGE_FOLDER.parent)},
    ).stdout.split()
    assert digested == [digests.code_digest(script) for script in scripts]
