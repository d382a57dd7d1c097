import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from golden import golden_file, golden_files
from polars.testing import assert_frame_equal
from small_cells import expanded, one_list
from typer.testing import CliRunner
from unqover_entries import (
    ITEM,
    answered,
    masked,
    source_entries,
)

from biasgrid.cli.app import app
from biasgrid.families.underspecified.ask import KEYS
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.formats.unqover.export import output_json, source_json, write_in_parts
from biasgrid.formats.unqover.reading import read_unqover
from biasgrid.tables.files import read_provenance, read_table, validate_table
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.instances import read_instances
from biasgrid.tables.schema import answer_schema

GOLDEN = golden_files("source/*.json") + golden_files("output/*.json")
GROWTH = """
import resource, sys
from pathlib import Path
from biasgrid.formats.unqover.reading import read_unqover
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
instances, _ = read_unqover(Path(sys.argv[1]))
print(instances.height, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
runner = CliRunner()


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts in place of their codes."""
    return frame.with_columns(pl.selectors.categorical().cast(pl.String))


@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_read_of_a_golden_file_is_written_as_it_was(name: str) -> None:
    instances, predictions = read_unqover(golden_file(name))
    validate_table(instances, schema_of_instances(KEYS, instances.schema), name)
    if predictions is None:
        pieces = source_json(instances)
    else:
        validate_table(predictions, answer_schema("choice" if "_lm_" in name else "span"), name)
        pieces = output_json(instances, predictions, "unqover")
    assert "".join(pieces) == golden_file(name).read_text()


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("output")])
def test_an_output_names_the_same_instances_as_its_source(name: str) -> None:
    """For masked language models this finds contexts again; the order of their source is not in the
    file.
    """
    source = read_unqover(
        golden_file(f"source/{Path(name).name.split('.')[0]}.source.json")
    ).instances
    output = read_unqover(golden_file(name)).instances
    if "_lm_" not in name:
        assert_frame_equal(comparable(output), comparable(source))
    keys = ["subject1", "subject2", "template", "attribute_group", "attribute", "negated"]
    numbers = ["instance", "swap_group", "swapped"]
    assert_frame_equal(
        *(comparable(cluster).drop(numbers).sort(keys) for cluster in (output, source))
    )


def test_source_and_output_give_back_the_tables_that_they_were_written_of(tmp_path: Path) -> None:
    subjects = Subjects({"[subj]": ["Ann", "Anna", "Zoë"]}, ["x", None, "y"])
    instances = expanded([subjects], attributes=3, templates=2)
    predictions = answered(instances)
    write_in_parts(tmp_path / "source.json", source_json(instances))
    write_in_parts(tmp_path / "output.json", output_json(instances, predictions, "exact"))
    source, output = read_unqover(tmp_path / "source.json"), read_unqover(tmp_path / "output.json")
    assert source.predictions is None
    assert_frame_equal(comparable(source.instances), comparable(instances))
    assert_frame_equal(comparable(output.instances), comparable(instances))
    assert output.predictions is not None
    assert_frame_equal(comparable(output.predictions), comparable(predictions))


def test_predictions_of_masked_language_models_are_reported_by_their_context(
    tmp_path: Path,
) -> None:
    instances = one_list(3)
    write_in_parts(tmp_path / "output.json", output_json(instances, masked(instances), "exact"))
    read = read_unqover(tmp_path / "output.json")
    assert read.predictions is not None
    validate_table(read.predictions, answer_schema("choice"), "output.json")
    assert (
        comparable(read.instances)["text_pair"].unique().sort().to_list()[0]
        == "Ann met Bea 1 times."
    )
    assert comparable(read.instances)["text"].unique().sort().to_list() == [
        "Who did 0?",
        "Who never did 0?",
    ]


def test_any_json_of_the_same_content_is_read(tmp_path: Path) -> None:
    entries = source_entries()
    contents = [
        json.dumps(entries),
        json.dumps(entries, indent=1, sort_keys=True, ensure_ascii=False),
        " \n" + json.dumps(entries, indent="\t").replace("\n", "\r\n") + "\n\n",
    ]
    expected = comparable(one_list(2))
    for content in contents:
        (tmp_path / "file.json").write_bytes(content.encode())
        assert_frame_equal(comparable(read_unqover(tmp_path / "file.json").instances), expected)


@pytest.mark.parametrize(
    ("context", "names", "positions"),
    [
        ("Ann met Bea.", ("Ann", "Bea"), (0, 8)),
        ("Anna met Ann.", ("Anna", "Ann"), (0, 9)),
        ("Ann met Anna.", ("Ann", "Anna"), (0, 8)),
        ("By Anna sat Ann.", ("Ann", "Anna"), (12, 3)),
        ("ANN met bea.", ("Ann", "Bea"), (0, 8)),
        ("\u0130 \u4e2d met Bea.", ("\u4e2d", "Bea"), (2, 8)),
    ],
)
def test_candidates_are_where_unqover_finds_them(
    tmp_path: Path, context: str, names: tuple[str, str], positions: tuple[int, int]
) -> None:
    one, two = names
    entries = dict(
        zip(
            (f"None|None|{one}|{two}{ITEM}", f"None|None|{two}|{one}{ITEM}"),
            source_entries().values(),
            strict=True,
        )
    )
    for key, entry in entries.items():
        entry["context"] = context
        for question in ("q0", "q1"):
            for answer, name in zip(("ans0", "ans1"), key.split("|")[2:4], strict=True):
                entry[question][answer]["text"] = name
    (tmp_path / "file.json").write_text(json.dumps(entries))
    row = read_unqover(tmp_path / "file.json").instances.row(0, named=True)
    assert (row["position1"], row["position2"]) == positions


@pytest.mark.slow
def test_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    names = Subjects({"[subj]": [f"Name{number}x" for number in range(60)]}, [None] * 60)
    instances = expanded([names], attributes=20)
    path = tmp_path / "source.json"
    write_in_parts(path, source_json(instances))
    assert path.stat().st_size > 45e6
    run = subprocess.run(
        [sys.executable, "-c", GROWTH, str(path)], capture_output=True, text=True, check=True
    )
    height, growth = run.stdout.split()
    assert int(height) == instances.height
    assert float(growth) < 200


def test_the_command_writes_tables_with_their_origin(tmp_path: Path) -> None:
    write_in_parts(
        tmp_path / "a.output.json", output_json(one_list(3), answered(one_list(3)), "exact")
    )
    out = tmp_path / "out"
    result = runner.invoke(
        app, ["import", "unqover", str(tmp_path / "a.output.json"), "--out", str(out)]
    )
    assert result.exit_code == 0
    assert_frame_equal(
        comparable(read_instances(out / "instances.parquet", KEYS)), comparable(one_list(3))
    )
    assert (
        read_table(out / "predictions.parquet", answer_schema("span")).height == one_list(3).height
    )
    assert read_provenance(out / "predictions.parquet")["scoring"] == "unqover"
    assert read_provenance(out / "instances.parquet")["dump"]["file"] == "a.output.json"


def test_the_command_says_what_is_wrong_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("analyzing file x\n")
    result = runner.invoke(
        app, ["import", "unqover", str(tmp_path / "log.txt"), "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 2
    assert "log.txt, line 1, column 1: 'analyzing file x\\n'; expected '{'" in result.stderr
    assert not (tmp_path / "out").exists()
