"""Evaluates small datasets by Inspect with a mock model: run by the Python of an environment that
has it.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, includes
from inspect_ai.solver import generate, multiple_choice

FIELDS = ("example_id", "category", "context_condition", "question_polarity")


def outputs(texts: Iterable[str]) -> Iterator[ModelOutput]:
    """Yields what the mock model answers; with its usage nothing counts tokens, for which Inspect
    asks the network.
    """
    for text in texts:
        output = ModelOutput.from_content("mockllm/model", text)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        yield output


def questions(world: Path) -> Task:
    """The items in the form of a set of questions with options."""
    items = [json.loads(line) for line in (world / "Age.jsonl").read_text().splitlines()]
    samples = [
        Sample(
            input=f"{item['context']}\n\n{item['question']}",
            choices=[item[f"ans{place}"] for place in range(3)],
            target="ABC"[item["label"]],
            id=f"Age_{item['example_id']}",
            metadata={name: item[name] for name in FIELDS},
        )
        for item in items
    ]
    return Task(
        dataset=MemoryDataset(samples, name="Age"),
        solver=multiple_choice(),
        scorer=choice(),
        name="bbq_own_items",
    )


def loans(world: Path) -> Task:
    """The prompts that biasgrid exports, each once: they are asked in two epochs."""
    lines = [
        json.loads(line) for line in (world / "tasks/biasgrid_loans.jsonl").read_text().splitlines()
    ]
    prompts = [line for line in lines if line["repetition"] == 0]
    samples = [
        Sample(input=line["prompt"], target="Yes", metadata={"group": line["group"]})
        for line in prompts
    ]
    return Task(
        dataset=MemoryDataset(samples, name="loans"),
        solver=generate(),
        scorer=includes(),
        name="loans",
    )


def main(world: Path, out: Path) -> None:
    """Writes one log of each task, without the events, which repeat all else and name this
    machine.
    """
    letters = json.loads((world / "letters.json").read_text())
    answers = ["Yes.", "No.", "Yes, of course.", "No.", "That depends."] * 4
    for task, texts, epochs, kind in (
        (questions(world), letters, 1, "eval"),
        (loans(world), answers, 2, "json"),
    ):
        model = get_model("mockllm/model", custom_outputs=outputs(texts), memoize=False)
        # One sample after the other, so that each gets the answer that is meant for it.
        (done,) = evaluate(
            task,
            model=model,
            epochs=epochs,
            log_dir=str(world / "inspect"),
            display="none",
            max_samples=1,
            max_connections=1,
            log_format=kind,
        )
        log = read_eval_log(done.location)
        assert log.status == "success", log.error
        for sample in log.samples:
            sample.events = []
        log.eval.task_file = None
        log.eval.revision = None
        write_eval_log(log, str(out / f"{task.name}.{kind}"))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
