"""What the rules of variants, cells and shards are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_grid import inputs_of, job, small_inputs
from small_probes import CHESS

from biasgrid.base.addresses import address_digest
from biasgrid.config import parse_config
from biasgrid.runs.inputs.cells import CellInputs

pytestmark = pytest.mark.family("rules are given what underspecified questions and probes need")

SOURCE = {"checkpoint": "some/model", "revision": "main"}
CELL = job(dataset="people", model="one")


@pytest.fixture
def cells(tmp_path: Path) -> CellInputs:
    return CellInputs(small_inputs(tmp_path, results="out"))


@pytest.fixture
def scored(tmp_path: Path) -> CellInputs:
    """A grid of a writer whose texts a scorer reads."""
    scorer = "evaluator: {name: scorer, model: nice}\nmetric: {stereotype_rate: mean}"
    choice = "evaluator: option-letter\nmetric: {stereotype_rate: share-of-expected}"
    assert choice in CHESS
    (tmp_path / "probe.yaml").write_text(CHESS.replace(choice, scorer))
    nice = {
        "task": "text-classification",
        "kind": "S",
        "label": "N",
        "scorer": {"labels": ["neutral"]},
    }
    writer = {
        "task": "text-generation",
        "kind": "LM",
        "label": "W",
        "generation": {"max_tokens": 8},
    }
    dataset = {"family": "probe", "title": "Chess", "probe": "probe.yaml", "repetitions": 3}
    content = {
        "results": "out",
        "word_lists": str(tmp_path),
        "models": {"writer": writer | SOURCE, "nice": nice | SOURCE},
        "datasets": {"chess": dataset},
        "run": {"models": ["writer"], "datasets": ["chess"]},
    }
    return CellInputs(inputs_of(parse_config(content, "c.yaml")))


def dumped(**dump: str) -> CellInputs:
    """A grid of one cell that is a dump; there are no word lists."""
    model = {
        "task": "question-answering",
        "variant": "qa",
        "kind": "QA",
        "label": "D",
        "predictions": {"people": dump},
    }
    lists = {
        "subjects": ["subjects.txt"],
        "attributes": "a.txt",
        "variants": {"qa": {"templates": "qa.txt"}},
    }
    content = {
        "results": "out",
        "word_lists": "nowhere",
        "models": {"dumped": model},
        "datasets": {"people": {"title": "People"} | lists},
        "run": {"models": ["dumped"], "datasets": ["people"]},
    }
    return CellInputs(inputs_of(parse_config(content, "c.yaml")))


def test_subjects_are_filtered_by_a_tokenizer_only_where_masks_are_filled(
    cells: CellInputs,
) -> None:
    masked, answering = (job(dataset="people", variant=variant) for variant in ("lm-tiny", "qa"))
    assert cells.tokenizer_record(masked) == Path("out/tokenizers/tiny.json")
    assert (cells.tokenizer_source(masked) or {})["checkpoint"] == "some/model"
    assert cells.tokenizer_record(answering) == []
    assert cells.tokenizer_source(answering) is None
    assert cells.word_lists_digest(answering) == cells.inputs.lists_digest("people", "qa")
    assert Path(cells.word_list_files(answering).templates).name == "qa.txt"


def test_a_shard_is_predicted_from_instances_and_record(cells: CellInputs) -> None:
    files = {
        "instances": "out/instances/people/qa.parquet",
        "model": Path("out/models/one.json"),
        "capabilities": [],
    }
    assert cells.predict_files(CELL) == files
    params = cells.predict_params(CELL)
    assert {key: params[key] for key in ("task", "answer", "choices")} == {
        "task": "question-answering",
        "answer": "span",
        "choices": {"scoring": "exact"},
    }
    assert params["back_end"].endswith("extractive.back_end:QuestionAnswering")
    assert params["code"] != cells.predict_params(job(dataset="people", model="masked"))["code"]
    assert cells.instances_lists_digest(CELL) == cells.inputs.lists_digest("people", "qa")


def test_a_cell_is_measured_by_its_shards(cells: CellInputs) -> None:
    files = cells.measure_files(CELL)
    assert files["instances"] == "out/instances/people/qa.parquet"
    assert files["predictions"] == [
        Path(f"out/predictions/people/one/{shard}-of-2.parquet") for shard in (1, 2)
    ]
    assert (files["texts"], files["scorers"]) == ([], [])
    params = cells.measure_params(CELL)
    assert params["family"] == "biasgrid.families.underspecified"
    assert params["expected"] == {"task": "question-answering", "scoring": "exact"}
    assert (params["dump"], params["scorers"]) == (None, {})
    assert "mu" in params["names"]
    assert cells.model_record(CELL) == "out/models/one.json"


def test_settings_of_statistics_are_no_matter_of_measures(tmp_path: Path) -> None:
    params = []
    for level in (0.9, 0.95):
        cells = CellInputs(
            small_inputs(tmp_path / str(level), results="out", statistics={"level": level})
        )
        params.append((cells.measure_params(CELL), cells.statistics_params(CELL)))
    (measures, statistics), (other_measures, other_statistics) = params
    # The folders of the two grids differ.
    assert measures == other_measures
    assert statistics | {"settings": None} == other_statistics | {"settings": None}
    assert statistics["settings"] != other_statistics["settings"]
    assert statistics["clusters"] == [0, 1]
    # Validity flags have no units, since nothing is said of how sure they are.
    assert "mu" in statistics["units"]
    assert not statistics["units"].keys() & statistics["definitions"].limits.keys()


def test_what_scorers_say_is_a_file_of_the_writers_cell(scored: CellInputs) -> None:
    writing = job(dataset="chess", model="writer")
    said = "out/scorers/predictions/chess/writer/nice.parquet"
    assert scored.scorers(writing) == {"nice": ("score", said)}
    files = scored.measure_files(writing)
    assert files["texts"] == Path("out/scorers/instances/chess/writer.parquet")
    assert files["scorers"] == [said]
    writer = job(dataset="chess", writer="writer")
    assert scored.writer_predictions(writer) == files["predictions"]
    reading = job(dataset="chess", writer="writer", model="nice")
    assert scored.predict_params(reading)["answer"] == "score"
    assert scored.instances_lists_digest(reading) is None


def test_a_dump_in_a_file_is_an_input(tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text("{}")
    cells, cell = dumped(file=str(file)), job(dataset="people", model="dumped")
    assert cells.dump(cell) == str(file)
    assert cells.dump_origin(cell) == {"file": str(file), "sha256": None, "url": None}
    assert cells.measure_files(cell)["predictions"] == [
        Path("out/imported/people/dumped/predictions.parquet")
    ]
    assert cells.measure_params(cell)["dump"] == cells.dump_origin(cell)
    assert cells.model_record(cell) is None
    # What the dump is compared with need not be there.
    assert cells.subject_lists(cell) == []


def test_of_the_address_of_a_dump_no_secret_is_kept() -> None:
    url = "https://name:secret@host/people.json?token=secret"
    cells, cell = dumped(url=url, sha256="0" * 64), job(dataset="people", model="dumped")
    assert cells.dump(cell) == Path("out/dumps/people/dumped.json")
    origin: dict[str, Any] = cells.dump_origin(cell)
    assert "secret" not in str(origin)
    assert origin["address"] == address_digest(url)
    assert cells.dump_reader(cell).count(":") == 1
    assert len(cells.dump_code(cell)) == 16


def test_measures_that_are_no_sums_are_computed_again_without_each_cluster(
    cells: CellInputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cells.measure_params(CELL)["jackknife"] == {}
    monkeypatch.setattr(cells.grid.family("people"), "yields_sums", False, raising=False)
    statistics = cells.statistics_params(CELL)
    assert cells.measure_params(CELL)["jackknife"] == {
        "clusters": statistics["clusters"],
        "units": statistics["units"],
    }
