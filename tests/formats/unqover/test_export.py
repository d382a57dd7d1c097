import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from golden import SOURCES, golden_file, golden_files, unqover_keys, word_list_files
from small_cells import expanded, one_list, spans
from small_tables import predictions_of, whole, write_instances
from typer.testing import CliRunner

from biasgrid.base.faults import UserError
from biasgrid.base.sections import Scoring
from biasgrid.cli.app import app
from biasgrid.families.underspecified.ask import KEYS, expand
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import read
from biasgrid.formats.unqover.export import output_json, source_json
from biasgrid.formats.unqover.log import log_text
from biasgrid.formats.unqover.reading import read_unqover
from biasgrid.tables.files import TableError, empty_table, write_table
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.schema import answer_schema

DEMO = Path(__file__).parents[3] / "config" / "demo-full.yaml"
runner = CliRunner()


def text_of(pieces: Any) -> str:
    return "".join(pieces)


def masked(instances: pl.DataFrame, *probabilities: float) -> pl.DataFrame:
    """Predictions of a masked language model that are the same everywhere: of both subjects and of
    their pronouns.
    """
    return predictions_of("choice", instances, probabilities=[list(probabilities)] * len(instances))


def half_certain(instances: pl.DataFrame) -> pl.DataFrame:
    half = np.full(instances.height, 0.5)
    return spans(instances, half, half)


@pytest.mark.parametrize("name", list(SOURCES))
def test_word_lists_become_unqovers_source_to_the_byte(name: str) -> None:
    expected = golden_file(f"source/{name}.source.json").read_text()
    instances = whole(expand(read(word_list_files(name))[0]))
    # The golden files of ethnicity are a part of what the lists give.
    kept = instances.filter(pl.Series(unqover_keys(instances)).is_in(list(json.loads(expected))))
    numbered = kept.with_columns(instance=pl.int_range(pl.len(), dtype=pl.UInt32))
    assert text_of(source_json(numbered)) == expected


@pytest.mark.parametrize("name", golden_files("log/*"))
def test_logs_are_unqovers_to_the_byte(name: str) -> None:
    cell, group_by = Path(name).name.removesuffix(".log.txt").rsplit(".", 1)
    expected = golden_file(name).read_text()
    analysed = expected.splitlines()[0].removeprefix("analyzing file ")
    instances, predictions = read_unqover(golden_file(f"output/{cell}.output.json"))
    assert predictions is not None
    assert log_text(instances, predictions, "unqover", group_by, analysed) == expected  # type: ignore[arg-type]


def test_source_is_laid_out_as_json_dump_does_and_holds_any_letter() -> None:
    instances = expanded([Subjects({"[subj]": ['J"ö', "\u4e2d"]}, ["a", None])])
    text = text_of(source_json(instances))
    entries = json.loads(text)
    assert text == json.dumps(entries, indent=4)
    assert next(iter(entries)) == 'a|None|J"ö|\u4e2d|0|sort 0|did 0|did 0'
    answer = {"text": 'J"ö', "start": "", "end": ""}, {"text": "\u4e2d", "start": "", "end": ""}
    questions = [
        {"question": question, "pred": "", "ans0": answer[0], "ans1": answer[1]}
        for question in ("Who did 0?", "Who never did 0?")
    ]
    expected = {"context": 'J"ö met \u4e2d 1 times.', "q0": questions[0], "q1": questions[1]}
    assert entries[next(iter(entries))] == expected


def test_source_of_no_instances_is_an_empty_object() -> None:
    assert text_of(source_json(empty_table(schema_of_instances(KEYS, {})))) == json.dumps(
        {}, indent=4
    )


def test_instances_out_of_order_are_refused() -> None:
    instances = one_list(3)
    with pytest.raises(TableError, match="each plain question followed by its negation"):
        text_of(source_json(instances.sort("negated", maintain_order=True)))
    with pytest.raises(TableError, match="numbered from 0"):
        text_of(source_json(instances.slice(2)))


def test_output_is_sorted_by_unqovers_key_and_counts_the_lines_of_the_source() -> None:
    names = ["Ann", "Anna", "Zoe"]
    instances = expanded(
        [Subjects({"[subj]": names}, ["x", None, "Q"])], attributes=2, templates=11
    )
    text = text_of(output_json(instances, half_certain(instances).reverse(), "exact"))
    entries = json.loads(text)
    assert text == json.dumps(entries, indent=4)

    def sorting_key(key: str) -> str:
        group1, group2, subject1, *rest = key.split("|")
        return "|".join([*sorted([group1, group2, subject1]), *rest])

    source = list(json.loads(text_of(source_json(instances))))
    assert list(entries) == sorted(source, key=sorting_key)
    assert [entry["line"] for entry in entries.values()] == [source.index(key) for key in entries]


@pytest.mark.parametrize(("scoring", "score"), [("exact", 0.25), ("unqover", 0.75)])
def test_pronouns_count_in_outputs_that_are_scored_as_unqover_does(
    scoring: Scoring, score: float
) -> None:
    instances = one_list(2)
    predictions = masked(instances, 0.25, 0.5, 0.75, 0.125)
    entry = next(iter(json.loads(text_of(output_json(instances, predictions, scoring))).values()))
    assert (entry["context"], entry["q0"]["pred"]) == ("NA", "NA")
    assert entry["q0"]["question"] == "Ann met Bea 1 times. Who did 0?"
    assert entry["q0"]["ans0"] == {"text": "Ann", "start": score, "end": score}
    assert entry["q0"]["ans1"] == {"text": "Bea", "start": 0.5, "end": 0.5}


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_an_answer_without_a_score_is_refused(missing: float | None) -> None:
    # JSON has no word for it but null, which UnQover's analysis does not read.
    instances = one_list(2)
    predictions = half_certain(instances).with_columns(starts=pl.lit([missing, 0.5]))
    with pytest.raises(TableError, match="answers without a score"):
        text_of(output_json(instances, predictions, "exact"))


def test_gender_needs_pairs_across_genders() -> None:
    instances = one_list(3, ["female", "female", "male"])
    with pytest.raises(UserError, match="pairs within one gender"):
        log_text(instances, half_certain(instances), "exact", "gender_act", "x")


class Results:
    """A folder of results with the gender dataset of the demo."""

    def __init__(self, folder: Path):
        self.folder = folder / "results"
        content = yaml.safe_load(DEMO.read_text()) | {"results": str(self.folder)}
        writer = {
            "task": "text-generation",
            "variant": "llm-own",
            "kind": "LLM",
            "label": "Writer",
            "folder": "writer",
        }
        content["models"]["writer"] = writer
        own = {"templates": "templates/gender-qa.txt", "prompt": "prompts/two-options.txt"}
        content["datasets"]["gender"]["variants"]["llm-own"] = own
        self.config = folder / "config.yaml"
        self.config.write_text(yaml.safe_dump(content))
        self.instances = one_list(3)
        self.out = folder / "out" / "file"

    def write(self, task: str = "qa", scoring: str = "exact", first: int = 0) -> None:
        masks = masked(self.instances, 0.25, 0.5, 0.75, 0.5)
        predictions, kind = (
            (half_certain(self.instances), "span") if task == "qa" else (masks, "choice")
        )
        variant = "qa" if task == "qa" else "lm-synthetic"
        write_instances(self.instances, self.folder / f"instances/gender/{variant}.parquet", KEYS)
        path = self.folder / f"predictions/gender/none-{task}/1-of-1.parquet"
        write_table(predictions.slice(first), path, answer_schema(kind), {"scoring": scoring})

    def export(self, *arguments: str) -> Any:
        fixed = [str(self.config), "--dataset", "gender", "--out", str(self.out)]
        return runner.invoke(app, ["export", "unqover", *fixed, *arguments], env={"COLUMNS": "300"})


def test_the_command_writes_source_output_and_log(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.write()
    predictions = half_certain(results.instances)
    name = str(results.folder / "predictions" / "gender" / "none-qa")
    expected = {
        ("--variant", "qa"): text_of(source_json(results.instances)),
        ("--model", "none-qa"): text_of(output_json(results.instances, predictions, "exact")),
        ("--model", "none-qa", "--log", "subj"): log_text(
            results.instances, predictions, "exact", "subj", name
        ),
    }
    for arguments, text in expected.items():
        assert results.export(*arguments).exit_code == 0
        assert results.out.read_text() == text
    assert [path.name for path in results.out.parent.iterdir()] == ["file"]


@pytest.mark.parametrize(("scoring", "score"), [("exact", 0.25), ("unqover", 0.75)])
def test_the_command_scores_as_the_predictions_say(
    tmp_path: Path, scoring: str, score: float
) -> None:
    results = Results(tmp_path)
    results.write("lm", scoring)
    assert results.export("--model", "none-lm").exit_code == 0
    entry = next(iter(json.loads(results.out.read_text()).values()))
    assert entry["q0"]["ans0"]["start"] == score


@pytest.mark.parametrize("log", [[], ["--log", "subj"]])
def test_the_command_refuses_an_incomplete_cell(tmp_path: Path, log: list[str]) -> None:
    results = Results(tmp_path)
    results.write(first=1)
    result = results.export("--model", "none-qa", *log)
    assert result.exit_code == 2
    assert "none-qa on gender: of 12 instances, 1 have no prediction" in result.stderr


def test_a_missing_table_is_named_with_the_command_that_makes_it(tmp_path: Path) -> None:
    results = Results(tmp_path)
    result = results.export("--variant", "qa")
    assert result.exit_code == 2
    path = results.folder / "instances" / "gender" / "qa.parquet"
    assert f"biasgrid run {results.config} {path}" in result.stderr
    results.write()
    result = results.export("--model", "weak-qa")
    path = results.folder / "predictions" / "gender" / "weak-qa" / "1-of-1.parquet"
    assert f"{path}: there is no such table" in result.stderr
    assert not results.out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--variant", "lm-synthetc"],
            "unknown variant 'lm-synthetc' (did you mean 'lm-synthetic'?); expected one of",
        ),
        (["--model", "none-qu"], "unknown name 'none-qu' (did you mean 'none-qa'?)"),
        ([], "expected either --variant or --model"),
        (["--variant", "qa", "--model", "none-qa"], "expected either --variant or --model"),
        (["--variant", "qa", "--log", "subj"], "--log only with --model"),
        (["--model", "none-qa", "--log", "names"], "'gender_act'"),
        (
            ["--model", "writer"],
            (
                "models.writer: 'llm-own' is for generative models, whose lettered options do not "
                "fit UnQover's"
            ),
        ),
        (
            ["--model", "writer", "--log", "subj"],
            "expected a variant for question answering (`qa`) or for masked language",
        ),
        (
            ["--variant", "llm-own"],
            "datasets.gender.variants.llm-own: 'llm-own' is for generative models",
        ),
    ],
)
def test_wrong_arguments_get_a_message(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = Results(tmp_path).export(*arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.stderr
