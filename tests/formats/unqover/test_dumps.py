"""Dumps in place of a cell's instances and predictions."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from golden import golden_file, golden_files
from small_cells import one_list, spans
from typer.testing import CliRunner

from biasgrid.base.faults import InputError
from biasgrid.cli.app import app
from biasgrid.families.underspecified.ask import KEYS
from biasgrid.formats.unqover.export import output_json, source_json, write_in_parts
from biasgrid.formats.unqover.reading import import_dump
from biasgrid.tables.files import read_provenance, read_table
from biasgrid.tables.instances import read_instances
from biasgrid.tables.schema import answer_schema

DUMPS = [name for name in golden_files("output/*.json") if "gender" in name]


def answered() -> tuple[pl.DataFrame, pl.DataFrame]:
    instances = one_list(3)
    score = (np.arange(instances.height) + 1) / (2 * instances.height)
    return instances, spans(instances, score, score / 2)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Question answering about three subjects."""
    path = tmp_path / "a.output.json"
    write_in_parts(path, output_json(*answered(), "exact"))
    return path


def import_to(
    folder: Path,
    path: Path,
    task: str = "question-answering",
    digest: str | None = None,
    lists: Sequence[Path] = (),
) -> None:
    origin = {"file": str(path), "url": None, "sha256": digest}
    import_dump(path, origin, task, "unqover", lists, folder, {"code": "abc"})


def test_tables_say_which_dump_they_are_from(dump: Path, tmp_path: Path) -> None:
    digest = sha256(dump.read_bytes()).hexdigest()
    import_to(tmp_path / "with", dump, digest=digest)
    import_to(tmp_path / "without", dump)
    for folder in ("with", "without"):
        assert (
            read_instances(tmp_path / folder / "instances.parquet", KEYS).height
            == one_list(3).height
        )
        facts = read_provenance(tmp_path / folder / "predictions.parquet")
        assert facts["dump"] == {"file": str(dump), "url": None, "sha256": digest}
        assert (facts["code"], facts["task"], facts["scoring"]) == (
            "abc",
            "question-answering",
            "unqover",
        )


def test_another_digest_is_refused_with_both(dump: Path, tmp_path: Path) -> None:
    found = sha256(dump.read_bytes()).hexdigest()
    with pytest.raises(
        InputError, match=f"a.output.json: sha256 is {found}; expected {'0' * 64}, as in the config"
    ):
        import_to(tmp_path / "out", dump, digest="0" * 64)
    assert not (tmp_path / "out").exists()


def test_a_dump_of_another_task_is_refused_at_its_first_entry(dump: Path, tmp_path: Path) -> None:
    message = (
        "line 2, entry .*: an entry of output.json of question answering; expected an entry of "
        "output.json of a mas"
    )
    with pytest.raises(InputError, match=message):
        import_to(tmp_path / "out", dump, task="fill-mask")
    source = tmp_path / "source.json"
    write_in_parts(source, source_json(one_list(3)))
    with pytest.raises(
        InputError,
        match=r"an entry of source.json \(no answers\); expected an entry of output.json of qu",
    ):
        import_to(tmp_path / "out", source)


def test_a_dump_of_another_dataset_is_refused(dump: Path, tmp_path: Path) -> None:
    known, others = tmp_path / "known.txt", tmp_path / "others.txt"
    known.write_text("[subj] CARL\n[subj] Eve\n")
    others.write_text("[subj] Adam\n[subj] Eve\n")
    import_to(tmp_path / "one", dump, lists=[others, known])
    message = (
        r"a.output.json: none of its subjects \(Ann, Bea, Carl\) is in .*others.txt; expected a "
        r"dump of the "
    )
    with pytest.raises(InputError, match=message):
        import_to(tmp_path / "two", dump, lists=[others])
    assert not (tmp_path / "two").exists()


def test_a_missing_dump_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing.json: cannot be read \(No such file"):
        import_to(tmp_path / "out", tmp_path / "nothing.json")


def test_the_digest_depends_on_the_bytes_not_their_meaning(dump: Path, tmp_path: Path) -> None:
    digest = sha256(dump.read_bytes()).hexdigest()
    dump.write_text(json.dumps(json.loads(dump.read_text())))
    with pytest.raises(InputError, match="sha256 is"):
        import_to(tmp_path / "out", dump, digest=digest)


@pytest.mark.parametrize("name", DUMPS)
def test_imported_tables_are_written_as_the_golden_dump_was(name: str, tmp_path: Path) -> None:
    task = "fill-mask" if "_lm_" in name else "question-answering"
    import_to(tmp_path, golden_file(name), task)
    instances = read_instances(tmp_path / "instances.parquet", KEYS)
    predictions = read_table(
        tmp_path / "predictions.parquet",
        answer_schema("span" if task == "question-answering" else "choice"),
    )
    assert "".join(output_json(instances, predictions, "unqover")) == golden_file(name).read_text()


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_file_in_place_of_the_folder_is_one_message(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "source.json").write_text("".join(source_json(one_list(2))))
    result = CliRunner().invoke(
        app, ["import", "unqover", str(tmp_path / "source.json"), "--out", str(tmp_path / out)]
    )
    assert result.exit_code == 2
    assert f"{out}: cannot be written (" in result.stderr
    assert "Traceback" not in result.stderr
    assert (tmp_path / "file").read_text() == "kept"
