"""Tables that were laid in another one's place, or made from other tables than those that lie there
by now.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from biasgrid.base.faults import UserError
from biasgrid.inference.models.prerequisites import (
    check_record,
    read_capabilities,
    write_capabilities,
)
from biasgrid.tables.files import (
    TableError,
    empty_table,
    read_provenance,
    read_table,
    read_tables,
    write_table,
)
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.provenance import (
    cell_provenance,
    check_compared,
    check_made_from,
    check_made_with,
    digest,
    provenance_digests,
)
from biasgrid.tables.schema import answer_schema

TEXTS = answer_schema("text")
Facts = dict[str, Any]


def write(path: Path, schema: Any = MEASURES, **facts: Any) -> Path:
    write_table(empty_table(schema), path, schema, facts)
    return path


@pytest.mark.parametrize(
    ("file", "of", "other", "tail"),
    [
        ("measures/jobs/a.parquet", "jobs/a", "jobs/b", "jobs/a"),
        ("measures/jobs/v1.5.parquet", "jobs/v1.5", "jobs/v1.6", "jobs/v1.5"),
        ("predictions/jobs/a/1-of-2.parquet", "jobs/a/1-of-2", "jobs/a/2-of-2", "jobs/a/1-of-2"),
        ("predictions/jobs/a/1-of-1.parquet", "jobs/a/1-of-1", "food/a/1-of-1", "jobs/a/1-of-1"),
        ("instances/jobs/qa.parquet", "jobs/qa", "jobs/lm", "jobs/qa"),
        ("imported/jobs/a/predictions.parquet", "jobs/a", "jobs/b", "a/predictions"),
        ("comparisons/jobs.parquet", "jobs", "food", "jobs"),
        ("synthetic/jobs/synthetic.parquet", "jobs", "food", "synthetic"),
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda path: read_table(path, MEASURES),
        lambda path: read_table(path, MEASURES, ["value"]),
        lambda path: read_tables([path], MEASURES),
        read_provenance,
    ],
)
def test_a_table_in_the_place_of_another_one_is_refused_by_every_reader(
    tmp_path: Path, file: str, of: str, other: str, tail: str, read: Callable[[Path], Any]
) -> None:
    read(write(tmp_path / file, of=of))
    with pytest.raises(TableError) as refused:
        read(write(tmp_path / file, of=other))
    said = (
        f"{tmp_path / file}: is the table of {other}; expected that of {tail}; remove it "
        "and run again"
    )
    assert str(refused.value) == said


def test_a_table_may_be_looked_at_where_somebody_has_copied_it(tmp_path: Path) -> None:
    path = write(tmp_path / "copy.parquet", of="jobs/a")
    assert read_provenance(path, anywhere=True) == {"of": "jobs/a"}
    assert read_table(path, MEASURES, anywhere=True).is_empty()


def test_a_relative_path_says_as_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "measures/jobs/a.parquet", of="jobs/a")
    monkeypatch.chdir(tmp_path / "measures/jobs")
    assert read_provenance("a.parquet") == {"of": "jobs/a"}


def test_predictions_of_another_record_or_dump_are_no_cell(tmp_path: Path) -> None:
    instances, record = (
        write(tmp_path / "instances.parquet", dump={"file": "x", "sha256": "1"}),
        tmp_path / "a.json",
    )
    record.write_text(json.dumps({"weights": "1"}))
    path = write(
        tmp_path / "1-of-1.parquet",
        TEXTS,
        model={"weights": "1"},
        dump={"file": "x", "sha256": "1"},
    )
    cell_provenance(instances, [path], record)
    cell_provenance(instances, [path], dump={"file": "x", "url": None, "sha256": None})
    with pytest.raises(
        TableError, match=r"not imported from the dump in the config; remove it and run"
    ):
        cell_provenance(instances, [path], dump={"file": "x", "sha256": "2"})
    record.write_text(json.dumps({"weights": "2"}))
    with pytest.raises(
        TableError, match=r"1-of-1.parquet: not made by the model in .*a.json; remove it"
    ):
        cell_provenance(instances, [path], record)


def test_texts_of_other_predictions_are_refused(tmp_path: Path) -> None:
    predictions = write(tmp_path / "1-of-1.parquet", TEXTS, model={"weights": "1"})
    texts = write(tmp_path / "texts.parquet", written=provenance_digests([predictions]))
    check_made_from(texts, "written", provenance_digests([predictions]), predictions)
    write(predictions, TEXTS, model={"weights": "2"})
    with pytest.raises(
        TableError, match=r"texts.parquet: not up to date with .*1-of-1.parquet; remove it"
    ):
        check_made_from(texts, "written", provenance_digests([predictions]), predictions)


def test_sums_evidence_and_intervals_of_other_measures_are_refused(tmp_path: Path) -> None:
    facts: Facts = {"of": "jobs/a", "predictions": {"weights": "1"}}
    made: Facts = {"of": "jobs/a", "sums": digest(facts)}
    measures = write(tmp_path / "measures/jobs/a.parquet", **made)
    sums = write(tmp_path / "sums/jobs/a.parquet", **facts)
    evidence = write(tmp_path / "evidence/jobs/a.parquet", **facts)
    intervals = write(tmp_path / "intervals/jobs/a.parquet", **made)
    check_made_with([measures], [sums, evidence, intervals])
    write(measures, of="jobs/a", sums=digest(facts | {"predictions": {"weights": "2"}}))
    for table in (sums, evidence, intervals):
        with pytest.raises(
            TableError,
            match=rf"{table}: not made with .*measures/jobs/a.parquet; remove it and run",
        ):
            check_made_with([measures], [table])


def test_comparisons_of_other_measures_are_refused(tmp_path: Path) -> None:
    measures = [
        write(tmp_path / f"measures/jobs/{name}.parquet", of=f"jobs/{name}") for name in "ab"
    ]
    cells = {name: {"of": f"jobs/{name}"} for name in "ab"}
    compared = write(tmp_path / "comparisons/jobs.parquet", of="jobs", cells=cells)
    check_compared(measures, [compared])
    write(measures[1], of="jobs/b", level=0.9)
    with pytest.raises(
        TableError, match=r"comparisons/jobs.parquet: does not compare the measures of jobs"
    ):
        check_compared(measures, [compared])


def test_what_was_found_out_of_another_model_is_refused(tmp_path: Path) -> None:
    record, capabilities = tmp_path / "a.json", tmp_path / "capabilities.json"
    record.write_text(json.dumps({"keys": {"url": "1"}}))
    write_capabilities(capabilities, record, {"scored_by": "top"})
    assert read_capabilities(capabilities, record) == {"scored_by": "top"}
    record.write_text(json.dumps({"keys": {"url": "2"}}))
    with pytest.raises(
        UserError, match=r"capabilities.json: does not describe the model in .*a.json; remove it"
    ):
        read_capabilities(capabilities, record)
    # Without the digest of the record.
    capabilities.write_text(json.dumps({"scored_by": "top"}))
    with pytest.raises(UserError, match="does not describe the model"):
        read_capabilities(capabilities, record)


@pytest.mark.parametrize(
    ("source", "record", "says"),
    [
        (
            {"checkpoint": "x/y", "folder": None, "revision": "main"},
            {"checkpoint": "x/z", "folder": None, "requested": "main"},
            "its checkpoint is 'x/z'; expected 'x/y'",
        ),
        (
            {"checkpoint": "x/y", "folder": None, "revision": "main"},
            {"checkpoint": "x/y", "folder": None, "requested": "v1"},
            "its revision is 'v1'; expected 'main'",
        ),
        (
            {"checkpoint": None, "folder": "a", "revision": None},
            {"checkpoint": None, "folder": "b", "requested": None},
            "its folder is 'b'; expected 'a'",
        ),
        (
            {"keys": {"random": {"seed": 1}}},
            {"keys": {"random": {"seed": 2}}},
            "its random is {'seed': 2}; expected",
        ),
        (
            {"keys": {"answers": "x.csv"}},
            {"checkpoint": "x/y"},
            "its answers is null; expected 'x.csv'",
        ),
    ],
)
def test_the_record_of_another_model_is_refused(
    tmp_path: Path, source: Facts, record: Facts, says: str
) -> None:
    with pytest.raises(UserError) as refused:
        check_record(tmp_path / "a.json", record, source)
    assert f"{tmp_path / 'a.json'}: is the record of another model: {says}" in str(refused.value)
    same = {"requested": source.get("revision"), **source}
    check_record(tmp_path / "a.json", same, source)
