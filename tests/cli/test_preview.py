"""What `biasgrid preview` shows before anything was run."""

from pathlib import Path

import pytest
from small_grid import write_general_grid
from typer.testing import CliRunner

from biasgrid.cli.app import app

ROOT = Path(__file__).parents[2]
runner = CliRunner()


def test_the_first_instances_are_shown_as_a_model_gets_them(tmp_path: Path) -> None:
    result = runner.invoke(
        app, ["preview", str(write_general_grid(tmp_path)), "--dataset", "people", "--rows", "4"]
    )
    assert result.exit_code == 0, result.output
    title, header, *rows = result.output.splitlines()
    assert title.strip() == "requests"
    assert header.split()[:2] == ["instance", "text"]
    # Texts that do not fit go on in the next line.
    assert [row.split()[0] for row in rows if row[:1].isdigit()] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--dataset", "peple"],
            "--dataset: unknown name 'peple' (did you mean 'people'?); expected one of",
        ),
        (
            ["--dataset", "people", "--model", "on"],
            "--model: unknown name 'on' (did you mean 'one'?); expected one of",
        ),
        (
            ["--dataset", "people", "--model", "one"],
            "one has not answered people; run the config first, with `biasgrid run`",
        ),
    ],
)
def test_what_cannot_be_shown_is_one_message(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = runner.invoke(app, ["preview", str(write_general_grid(tmp_path)), *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def sampled(*arguments: str) -> list[list[str]]:
    result = runner.invoke(app, ["preview", *arguments])
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_a_sample_has_some_instances_of_every_dataset(tmp_path: Path) -> None:
    config = str(write_general_grid(tmp_path))
    header, *rows = sampled(config, "--sample", "5")
    assert header == ["dataset", "variant", "instance", "text", "candidates"]
    assert [row[0] for row in rows] == ["people"] * 5 + ["pairs"] * 5
    assert len({tuple(row[:3]) for row in rows}) == len(rows)
    # Texts are those of the instances that the numbers name.
    assert all(
        text.split(" | ")[-1].startswith(f"Good day {number}.") for _, _, number, text, _ in rows
    )
    assert sampled(config, "--sample", "5", "--seed", "1") == [header, *rows]
    assert sampled(config, "--sample", "5", "--seed", "2") != [header, *rows]
    # What is drawn of a dataset does not depend on others, nor on how many configs are read.
    assert sampled(config, "--sample", "5", "--dataset", "pairs") == [header, *rows[5:]]
    assert sampled(config, config, "--sample", "5", "--dataset", "pairs") == [
        header,
        *rows[5:],
        *rows[5:],
    ]


def test_a_sample_is_no_larger_than_its_dataset(tmp_path: Path) -> None:
    _, *rows = sampled(
        str(write_general_grid(tmp_path)), "--sample", "100000", "--dataset", "people"
    )
    assert [int(row[2]) for row in rows] == list(range(len(rows)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sample", "3", "--dataset", "peple"], "unknown name 'peple' (did you mean 'people'?)"),
        (
            ["--sample", "3", "--model", "one"],
            "--sample and --model are given; expected one of them",
        ),
        (
            [],
            (
                "no --dataset; expected one config and --dataset, or --sample to draw "
                "from all datasets"
            ),
        ),
    ],
)
def test_what_cannot_be_sampled_is_one_message(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = runner.invoke(app, ["preview", str(write_general_grid(tmp_path)), *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.family("the shipped datasets are theirs")
def test_shipped_datasets_are_sampled_as_models_read_them() -> None:
    _, *rows = sampled(str(ROOT / "config/fairness.yaml"), "--sample", "3", "--seed", "2")
    texts = {row[0]: row[3] for row in rows}
    # A premise stands before its hypothesis, a context before its question.
    assert texts["entailment"].count(" | ") == 1
    assert texts["question-answering"].endswith("?")
    assert texts["masked"].count("[MASK]") == 1
    assert len(rows) == 3 * len({row[0] for row in rows})
