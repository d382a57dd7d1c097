"""GenderBench's own probes, made by GenderBench itself, against its golden files and its own
metrics.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from typing import Any

import needs
import polars as pl
import pytest
from genderbench_itself import GOLDEN
from real_genderbench import logs_of_itself, made
from small_logs import of_cell
from small_probes import cell_of, golden, instances_of

from biasgrid.families.outcomes import OUTCOME_DIFFERENCES, REASONS_WITHOUT_ANSWER
from biasgrid.families.probe.definitions import MarkRanges
from biasgrid.families.probe.genderbench import bootstrap_interval, bootstrap_sums, is_about_cell
from biasgrid.families.probe.measure import measure
from biasgrid.families.probe.observe import observe
from biasgrid.families.probe.read import WRITTEN, ProbeFiles
from biasgrid.formats.genderbench.probes import PROBES
from biasgrid.formats.genderbench.reading import import_log
from biasgrid.stats.sums import Sums
from biasgrid.tables.claims.marks import LETTERS

TEXTS = ("bbq.jsonl", "direct.jsonl", "inventories.jsonl", "jobslum.yaml", "relationshiplevy.jsonl")
"""The files of the probes of the golden files, in their order."""
OUTCOMES = [*REASONS_WITHOUT_ANSWER, *OUTCOME_DIFFERENCES]
"""What became of answers, which GenderBench does not count."""
FLAGS = ["one_answer", "first_option", "few_items", "at_chance", "refusals_differ"]
"""What withholds marks, which GenderBench gives all the same."""
RENAMED = {
    "undetected_rate_items": "undetected_items",
    "undetected_rate_attempts": "undetected_answers",
}


@needs.genderbench.mark
@pytest.mark.parametrize(("name", "file"), [*zip(GOLDEN, TEXTS, strict=True)])
def test_prompts_match_the_golden_files(
    name: str, file: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected = golden("probes.json")[name]["Uniform"]
    repetitions = expected["attempts"] // expected["prompts"]
    instances = instances_of(ProbeFiles(made(tmp_path_factory) / file, WRITTEN, repetitions, None))
    prompts = instances["text"].cast(pl.String)
    assert sha256("\x1e".join(prompts).encode()).hexdigest() == expected["sha256_of_all_prompts"]
    assert instances["item"].n_unique() == expected["items"]


@needs.genderbench.mark
@pytest.mark.parametrize("name", PROBES)
def test_all_metrics_match_genderbench(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = logs_of_itself(tmp_path_factory) / f"{name}.jsonl"
    ours = of_cell(files_of_log(name, log, made(tmp_path_factory), tmp_path), answers_in(log))
    wanted = {
        RENAMED.get(metric, metric): value for metric, value in state_of(log)["metrics"].items()
    }
    assert {*wanted} <= {*ours}
    assert {metric: ours[metric] for metric in wanted} == pytest.approx(wanted, abs=1e-9)
    assert {*ours} - {*wanted} <= {*RENAMED.values(), *OUTCOMES, *FLAGS}


@needs.genderbench.mark
@pytest.mark.parametrize("name", GOLDEN)
def test_intervals_of_its_draws_match_the_golden_files(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected = golden("probes.json")[name]["Uniform"]
    log = logs_of_itself(tmp_path_factory) / f"{name}.jsonl"
    files = files_of_log(name, log, made(tmp_path_factory), tmp_path)
    instances, predictions = cell_of(files, answers_in(log))
    options = {"probe": str(files.probe), "mode": "genderbench"}
    cycles = expected["bootstrap_cycles"]
    ours = {
        part.keys["measure"][0]: bootstrap_interval(
            part.finish(bootstrap_sums(part.along["items"].sums[0], cycles))
        )
        for part in measure(observe(instances, predictions, options), options)
        if isinstance(part, Sums) and is_about_cell(part)
    }
    for metric, ends in expected["metrics_ci_seed123"].items():
        assert ours[RENAMED.get(metric, metric)] == pytest.approx(tuple(ends), abs=1e-9)


def answers_in(log: Path) -> list[str]:
    """The answers in a log, in order."""
    return [
        attempt["answer"] for item in state_of(log)["probe_items"] for attempt in item["attempts"]
    ]


def state_of(log: Path) -> dict[str, Any]:
    """What stands in a log of one line."""
    state: dict[str, Any] = json.loads(log.read_text())["probe_state"]
    return state


def files_of_log(name: str, log: Path, made: Path, folder: Path) -> ProbeFiles:
    """The probe of a log, in a folder with the data that its metrics need."""
    stem, probe = name.removesuffix("Probe").lower(), log
    if (made / f"{stem}.yaml").exists():
        for file in made.glob(f"{stem}*"):
            copyfile(file, folder / file.name)
        copyfile(log, folder / f"{stem}.jsonl")
        probe = folder / f"{stem}.yaml"
    return ProbeFiles(probe, WRITTEN, state_of(log)["num_repetitions"], None)


@needs.genderbench.mark
@pytest.mark.parametrize("name", PROBES)
def test_marks_match_genderbench(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    theirs = json.loads((logs_of_itself(tmp_path_factory) / "marks.json").read_text())[name]
    ours = {told["measure"]: MarkRanges.model_validate(told) for told in PROBES[name].marks}
    assert ours.keys() == theirs.keys()
    for name_of_metric, (ranges, harms) in theirs.items():
        assert pieces_of(ours[name_of_metric]) == theirs_of(ranges)
        assert ours[name_of_metric].harms == [harm.lower() for harm in harms]


@pytest.mark.parametrize("name", GOLDEN)
def test_marks_have_the_ranges_of_the_golden_files(name: str) -> None:
    ranges = golden("probes.json")[name]["mark_ranges"]
    ours = {
        told["measure"]: pieces_of(MarkRanges.model_validate(told)) for told in PROBES[name].marks
    }
    assert ours == {measure: theirs_of(pieces) for measure, pieces in ranges.items()}


def test_sections_are_judged_by_the_marks_of_the_golden_files() -> None:
    used = next(iter(golden("section_marks.json").values()))["marks used"]
    sections = {
        "decision": "Decision-making",
        "creative": "Creative writing",
        "opinion": "Manifested opinions",
        "affective": "Affective computing",
    }
    told = [(known.section, name, marks) for name, known in PROBES.items() for marks in known.marks]
    ours = {
        (section, name, marks["measure"])
        for section, name, marks in told
        if marks.get("counts", True)
    }
    assert ours == {
        (sections[section], name, metric)
        for section in sections
        for name, metric, _ in used[section]
    }


def pieces_of(marks: MarkRanges) -> list[Any]:
    """The ranges of marks of ours, with the number of each mark."""
    return sorted((LETTERS.index(mark), *map(float, ends)) for mark, *ends in marks.letter_ranges())


def theirs_of(ranges: dict[str, list[list[float]]]) -> list[Any]:
    """The same of GenderBench's."""
    return [
        pytest.approx(one)
        for one in sorted((int(mark), *ends) for mark in ranges for ends in ranges[mark])
    ]


@needs.genderbench.mark
@pytest.mark.parametrize("name", GOLDEN)
def test_its_own_numbers_and_marks_match_the_golden_files(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    expected: dict[str, Any] = golden("probes.json")[name]["Uniform"]
    state = state_of(logs_of_itself(tmp_path_factory) / f"{name}.jsonl")
    assert state["metrics"] == pytest.approx(expected["metrics_point"], abs=1e-9)
    assert {measure: mark["mark_value"] for measure, mark in state["marks"].items()} == expected[
        "marks_point"
    ]


@needs.genderbench.mark
def test_its_logs_are_imported(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    log = logs_of_itself(tmp_path_factory) / "InventoriesProbe.jsonl"
    import_log(log, tmp_path)
    state, numbers = state_of(log), pl.read_csv(tmp_path / "genderbench.csv")
    assert dict(numbers.select("measure", "value").iter_rows()) == pytest.approx(
        state["metrics"], abs=1e-12
    )
    marks = dict(numbers.drop_nulls("mark").select("measure", "mark").iter_rows())
    assert marks == {
        measure: LETTERS[mark["mark_value"]] for measure, mark in state["marks"].items()
    }
    prompts = [
        attempt["prompt"]["text"] for item in state["probe_items"] for attempt in item["attempts"]
    ]
    assert (
        pl.read_parquet(tmp_path / "instances.parquet")["text"].cast(pl.String).to_list() == prompts
    )
