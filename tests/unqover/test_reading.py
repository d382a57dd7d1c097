import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from golden import FOLDER, golden_files, needs_golden_files
from polars.testing import assert_frame_equal
from small_cells import expanded, one_list, spans
from small_tables import predictions_of
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.families.underspecified.keys import KEYS
from biasgrid.families.underspecified.word_lists import Subjects
from biasgrid.faults import InputError
from biasgrid.tables.answers import schema_of
from biasgrid.tables.files import read_provenance, read_table, validate
from biasgrid.tables.instances import read_instances
from biasgrid.tables.instances import schema_of as schema_of_instances
from biasgrid.unqover.export import output_json, source_json, write_text
from biasgrid.unqover.reading import read_unqover

Entries = dict[str, Any]
GOLDEN = golden_files("source/*") + golden_files("output*/*")
ANN_BEA = "None|None|Ann|Bea|0|sort 0|did 0|did 0"
BEA_ANN = "None|None|Bea|Ann|0|sort 0|did 0|did 0"
ITEM = "|0|sort 0|did 0|did 0"
GROWTH = """
import resource, sys
from pathlib import Path
from biasgrid.unqover.reading import read_unqover
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
instances, _ = read_unqover(Path(sys.argv[1]))
print(instances.height, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
runner = CliRunner()


def comparable(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts in place of their codes."""
    return frame.with_columns(pl.selectors.categorical().cast(pl.String))


def answered(instances: pl.DataFrame) -> pl.DataFrame:
    """Predictions that differ everywhere."""
    score = (np.arange(instances.height) + 1) / (2 * instances.height)
    return spans(instances, score, score / 2)


def masked(instances: pl.DataFrame) -> pl.DataFrame:
    return predictions_of("choice", instances, probabilities=answered(instances)["starts"])


def source_entries() -> Entries:
    return json.loads("".join(source_json(one_list(2))))


def span_entries() -> Entries:
    return json.loads("".join(output_json(one_list(2), answered(one_list(2)), "exact")))


def mask_entries() -> Entries:
    return json.loads("".join(output_json(one_list(2), masked(one_list(2)), "exact")))


def fault_of(folder: Path, content: str | bytes) -> str:
    path = folder / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as error:
        read_unqover(path)
    (fault,) = error.value.faults
    assert fault.file == str(path)
    assert fault.expected
    return str(fault)


@needs_golden_files()
@pytest.mark.parametrize("name", GOLDEN)
def test_what_is_read_of_a_golden_file_is_written_as_it_was(name: str) -> None:
    instances, predictions = read_unqover(FOLDER / name)
    validate(instances, schema_of_instances(KEYS, instances.schema), name)
    if predictions is None:
        pieces = source_json(instances)
    else:
        validate(predictions, schema_of("choice" if "_lm_" in name else "span"), name)
        pieces = output_json(instances, predictions, "unqover")
    assert "".join(pieces) == (FOLDER / name).read_text()


@needs_golden_files()
@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("output")])
def test_an_output_names_the_same_instances_as_its_source(name: str) -> None:
    """For masked language models this finds contexts again; the order of their source is not in the file."""
    source = read_unqover(FOLDER / "source" / f"{Path(name).name.split('.')[0]}.source.json").instances
    output = read_unqover(FOLDER / name).instances
    if "_lm_" not in name:
        assert_frame_equal(comparable(output), comparable(source))
    keys = ["subject1", "subject2", "template", "attribute_cluster", "attribute", "negated"]
    numbers = ["instance", "swap_group", "swapped"]
    assert_frame_equal(*(comparable(frame).drop(numbers).sort(keys) for frame in (output, source)))


def test_source_and_output_give_back_the_tables_that_they_were_written_of(tmp_path: Path) -> None:
    subjects = Subjects({"[subj]": ["Ann", "Anna", "Zoë"]}, ["x", None, "y"])
    instances = expanded([subjects], attributes=3, templates=2)
    predictions = answered(instances)
    write_text(tmp_path / "source.json", source_json(instances))
    write_text(tmp_path / "output.json", output_json(instances, predictions, "exact"))
    source, output = read_unqover(tmp_path / "source.json"), read_unqover(tmp_path / "output.json")
    assert source.predictions is None
    assert_frame_equal(comparable(source.instances), comparable(instances))
    assert_frame_equal(comparable(output.instances), comparable(instances))
    assert output.predictions is not None
    assert_frame_equal(comparable(output.predictions), comparable(predictions))


def test_predictions_of_masked_language_models_are_told_by_their_context(tmp_path: Path) -> None:
    instances = one_list(3)
    write_text(tmp_path / "output.json", output_json(instances, masked(instances), "exact"))
    read = read_unqover(tmp_path / "output.json")
    assert read.predictions is not None
    validate(read.predictions, schema_of("choice"), "output.json")
    assert comparable(read.instances)["text_pair"].unique().sort().to_list()[0] == "Ann met Bea 1 times."
    assert comparable(read.instances)["text"].unique().sort().to_list() == ["Who did 0?", "Who never did 0?"]


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
        zip((f"None|None|{one}|{two}{ITEM}", f"None|None|{two}|{one}{ITEM}"), source_entries().values(), strict=True)
    )
    for key, entry in entries.items():
        entry["context"] = context
        for question in ("q0", "q1"):
            for answer, name in zip(("ans0", "ans1"), key.split("|")[2:4], strict=True):
                entry[question][answer]["text"] = name
    (tmp_path / "file.json").write_text(json.dumps(entries))
    row = read_unqover(tmp_path / "file.json").instances.row(0, named=True)
    assert (row["position1"], row["position2"]) == positions


def changed(change: Callable[[Entries], Any], of: Callable[[], Entries] = source_entries) -> str:
    entries = of()
    change(entries)
    return json.dumps(entries, indent=4)


def renamed(old: str, new: str) -> Callable[[Entries], Any]:
    return lambda entries: entries.update({new: entries.pop(old)})


def setting(value: Any, *path: str) -> Callable[[Entries], Any]:
    def change(entries: Entries) -> None:
        place = entries[BEA_ANN]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


def answering(one: str, two: str) -> Callable[[Entries], Any]:
    """Sets the answers of both questions."""

    def change(entries: Entries) -> None:
        for question in ("q0", "q1"):
            entries[BEA_ANN][question]["ans0"]["text"] = one
            entries[BEA_ANN][question]["ans1"]["text"] = two

    return change


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "line 1, column 1: the file ends too early; expected '{'"),
        ("[]", "line 1, column 1: '[]'; expected '{' at the beginning"),
        ("{}", "no entries; expected at least one swap group"),
        ("subj\tgamma\n", "line 1, column 1: 'subj\\tgamma\\n'; expected '{'"),
        (b"PAR1\xff\xfe", "behind line 1: byte 0xff is not UTF-8"),
        ("{\n\n 3: {}}", "line 3, column 2: 3 in place of a key"),
        ('{\n  "a" {}}', "line 2, column 7: '{}}'; expected ':'"),
        ('{"a": tru}', "line 1, column 7: not JSON (Expecting value)"),
        (json.dumps(source_entries()) + "{}", "'{}' behind the last '}'; expected the end of the file"),
        (json.dumps(source_entries())[:-1] + ";", "';'; expected ',' and another entry"),
        (
            '{"a": {"q0": 1, "q0": 2}}',
            "line 1, column 7: the key 'q0' stands twice in one object; expected every key once",
        ),
        ('{"a": ' + "[" * 30000, "too deep to be read"),
        ('{"a": ' + "9" * 5000 + "}", "a number that cannot be read"),
        ('{"a": "' + "b" * 70000 + '"}', "a value is too long; expected at most 65536 characters"),
    ],
)
def test_what_is_not_json_is_named_with_its_place(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert message in fault_of(tmp_path, content)


@pytest.mark.parametrize("of", [source_entries, span_entries, mask_entries])
def test_a_file_that_ends_too_early_is_refused_wherever_it_ends(tmp_path: Path, of: Callable[[], Entries]) -> None:
    content = json.dumps(of(), indent=4)
    for end in range(1, len(content), 37):
        assert "the file ends too early" in fault_of(tmp_path, content[:end])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (renamed(BEA_ANN, "Bea|Ann"), "entry 'Bea|Ann': 2 parts in the key; expected 8: cluster1|"),
        (renamed(BEA_ANN, BEA_ANN.replace("|0|", "|x|")), "template 'x' in the key; expected a whole number"),
        (renamed(BEA_ANN, BEA_ANN + "!"), "the key ends in 'did 0' and 'did 0!'; expected the attribute twice"),
        (renamed(BEA_ANN, BEA_ANN.replace("Ann", "Bea")), "both subjects in the key are 'Bea'; expected two"),
        (setting("", "q2"), "the entry has q2; expected the keys context, q0, q1"),
        (lambda entries: entries[BEA_ANN].pop("q1"), "the entry lacks q1; expected the keys"),
        (lambda entries: entries.update({BEA_ANN: []}), "the entry is []; expected an object with context, q0, q1"),
        (lambda entries: entries[BEA_ANN]["q1"].pop("pred"), "q1 lacks pred"),
        (setting("", "q0", "ans1", "stop"), "q0.ans1 has stop; expected the keys end, start, text"),
        (setting(None, "context"), "context is None; expected a text"),
        (setting(5, "q0", "question"), "q0.question is 5; expected a text"),
        (answering("Carl", "Ann"), "'Carl' and 'Ann' do not both stand in 'Bea met Ann 1 times.'"),
        (answering("Bea", "ea"), "'Bea' and 'ea' do not both stand"),
        (
            setting("Ann", "q1", "ans0", "text"),
            "q0.ans0.text is 'Bea', q1.ans0.text is 'Ann'; expected the same subject",
        ),
        (setting("Bea", "q1", "pred"), "q1 has an answer; expected pred, start and end"),
        (setting(0.5, "q0", "ans0", "start"), "an entry of output.json of question answering; expected an entry of"),
    ],
)
def test_a_malformed_entry_of_a_source_is_named_with_line_and_key(
    tmp_path: Path, change: Callable[[Entries], Any], message: str
) -> None:
    fault = fault_of(tmp_path, changed(change))
    assert "file.json, line 33, entry " in fault
    assert message in fault


@pytest.mark.parametrize(
    ("of", "change", "message"),
    [
        (span_entries, setting("0.5", "q0", "ans0", "start"), "q0 has '0.5' for start or end; expected a probability"),
        (span_entries, setting(1.5, "q1", "ans1", "end"), "q1 has 1.5 for start or end"),
        (span_entries, setting(float("nan"), "q1", "ans1", "end"), "q1 has nan for start or end"),
        (span_entries, setting("0", "line"), "line is '0'; expected the row number in source.json"),
        (span_entries, setting(0, "line"), '"line": 0 stands twice; expected the row number in source.json, every'),
        (mask_entries, setting(0.25, "q0", "ans0", "start"), "start and end of an answer differ in q0"),
        (mask_entries, setting("Bea met Ann.", "context"), "an entry of output.json of question answering; expected"),
        (mask_entries, setting("Who", "q1", "question"), "have no context in common; expected a sentence"),
    ],
)
def test_a_malformed_answer_is_named(
    tmp_path: Path, of: Callable[[], Entries], change: Callable[[Entries], Any], message: str
) -> None:
    fault = fault_of(tmp_path, changed(change, of))
    assert "file.json, line " in fault
    assert message in fault


def test_an_entry_without_its_other_half_is_named(tmp_path: Path) -> None:
    fault = fault_of(tmp_path, changed(lambda entries: entries.pop(BEA_ANN)))
    assert "line 2: the entry is there 1 and, with its subjects swapped, 0 times" in fault
    twice = changed(renamed(BEA_ANN, ANN_BEA + "x" * 7)).replace("x" * 7, "")
    assert "the entry is there 2 and, with its subjects swapped, 0 times" in fault_of(tmp_path, twice)


@pytest.mark.parametrize("of", [source_entries, span_entries, mask_entries])
def test_answers_in_the_other_order_than_the_key_names_them_are_refused(
    tmp_path: Path, of: Callable[[], Entries]
) -> None:
    """Otherwise the scores of one subject would be those of the other."""
    fault = fault_of(tmp_path, changed(answering("Ann", "Bea"), of))
    assert "the key names 'bea', but the answer is 'ann'; expected the subject that the answer is" in fault


def test_subjects_may_be_named_otherwise_than_in_the_text_but_always_alike(tmp_path: Path) -> None:
    content = json.dumps(source_entries()).replace("|Bea|", "|Beas|")
    (tmp_path / "file.json").write_text(content)
    assert "Beas" in read_unqover(tmp_path / "file.json").instances["subject1"].cast(pl.String).to_list()
    entries = json.dumps(json.loads("".join(source_json(one_list(3))))).replace("|Bea|Ann|", "|Eve|Ann|")
    fault = fault_of(tmp_path, entries.replace("|Ann|Bea|", "|Ann|Eve|"))
    assert "the key names 'eve', but the answer is 'bea'" in fault or "the key names 'bea'" in fault


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_unqover(tmp_path / "nothing.json")


def test_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    names = Subjects({"[subj]": [f"Name{number}x" for number in range(60)]}, [None] * 60)
    instances = expanded([names], attributes=20)
    path = tmp_path / "source.json"
    write_text(path, source_json(instances))
    assert path.stat().st_size > 45e6
    run = subprocess.run([sys.executable, "-c", GROWTH, str(path)], capture_output=True, text=True, check=True)
    height, growth = run.stdout.split()
    assert int(height) == instances.height
    assert float(growth) < 200


def test_the_command_writes_tables_with_their_origin(tmp_path: Path) -> None:
    write_text(tmp_path / "a.output.json", output_json(one_list(3), answered(one_list(3)), "exact"))
    out = tmp_path / "out"
    result = runner.invoke(app, ["import", "unqover", str(tmp_path / "a.output.json"), "--out", str(out)])
    assert result.exit_code == 0
    assert_frame_equal(comparable(read_instances(out / "instances.parquet", KEYS)), comparable(one_list(3)))
    assert read_table(out / "predictions.parquet", schema_of("span")).height == one_list(3).height
    assert read_provenance(out / "predictions.parquet")["scoring"] == "unqover"
    assert read_provenance(out / "instances.parquet")["dump"]["file"] == "a.output.json"


def test_the_command_says_what_is_wrong_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("analyzing file x\n")
    result = runner.invoke(app, ["import", "unqover", str(tmp_path / "log.txt"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    assert "log.txt, line 1, column 1: 'analyzing file x\\n'; expected '{'" in result.stderr
    assert not (tmp_path / "out").exists()
