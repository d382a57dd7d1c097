"""What `biasgrid try` takes with a model of bert-base's size, and what of it is no answer of the
model.

    python benchmarks/try.py [--minutes 2] [--task question-answering] [--size tiny] [--against
    ../before/src]

The model has random weights and is made on the spot. Its answers take what the cut to `--minutes`
leaves them; the rest is the same for any model: its workflow is run a second time with the answers
of the first, which are kept. Seconds of the processor count all jobs; where the machine has other
work, they say more than those of the clock. With the path of another checkout's `src` the command
alone is run, by both in turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from inference import make_tokenizer
from starting import seconds_of_processor
from stopwatch import medians_in_turns, print_table, seconds_of

HEADS = {"question-answering": "BertForQuestionAnswering", "fill-mask": "BertForMaskedLM"}
SIZES: dict[str, dict[str, int]] = {
    "base": {},
    "tiny": {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    },
}
"""The size of bert-base, and that of the models of tests."""
WORDS = Path("word_lists")
SOURCE = Path(__file__).parents[1] / "src"


def save_model(folder: Path, task: str, size: str) -> None:
    """Writes a model of a size with a tokenizer that knows the words of all lists."""
    import transformers

    tokenizer = make_tokenizer(sorted(WORDS.glob("*/*.txt")))
    config = transformers.BertConfig(
        vocab_size=30_522, pad_token_id=tokenizer.pad_token_id, **SIZES[size]
    )
    getattr(transformers, HEADS[task])(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def run(command: list[str], folder: Path, source: str = str(SOURCE)) -> tuple[float, float]:
    """Runs a command of this environment in a folder; returns its seconds by the clock and of the
    processor.

    Args:
        command: the command.
        folder: where it is run.
        source: the folder of the package that it runs.
    """
    processor: list[float] = []
    whole = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    # Python keeps what it compiles, as it does where biasgrid is installed.
    environment = {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": ""}
    return seconds_of(
        lambda: processor.append(seconds_of_processor(whole, folder, environment))
    ), processor[0]


def print_against(before: str, command: list[str], folder: Path, rounds: int) -> None:
    """Prints what a command takes with another package and with this one, in turns; the first turn
    does not count.
    """

    def run_anew(source: str) -> tuple[float, float]:
        shutil.rmtree(folder / "results", ignore_errors=True)
        return run(command, folder, source)

    sources = {"before": before, "now": str(SOURCE)}
    medians = medians_in_turns(
        {name: partial(run_anew, each) for name, each in sources.items()}, rounds, uncounted=1
    )
    rows = [
        [name, f"{clock:.1f}", f"{processor:.1f}", f"{processor / medians['before'][1]:.2f}"]
        for name, (clock, processor) in medians.items()
    ]
    print_table(["package", "seconds by the clock", "of the processor", "ratio"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--task", choices=HEADS, default="question-answering")
    parser.add_argument("--size", choices=SIZES, default="base")
    parser.add_argument("--against", help="`src` of the checkout to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "base"
        save_model(model, arguments.task, arguments.size)
        command = [
            "biasgrid",
            "try",
            str(model),
            "--on",
            "gender",
            "--minutes",
            f"{arguments.minutes}",
        ]
        if arguments.against:
            print_against(arguments.against, command, folder, arguments.rounds)
            return
        first = run(command, folder)
        results = folder / "results/try-base"
        made_instances = sum(
            cell["instances_made"]
            for cell in json.loads((results / "manifest.json").read_text())["cells"]
        )
        timings = [
            json.loads(path.read_text())["seconds"] for path in results.glob("timings/**/*.json")
        ]
        for made in results.iterdir():
            if made.name != ".answers":
                shutil.rmtree(made) if made.is_dir() else made.unlink()
        snakefile = str(Path("Snakefile").absolute())
        workflow = [
            "snakemake",
            "--snakefile",
            snakefile,
            "--cores",
            "all",
            "--configfile",
            "try-base.yaml",
        ]
        again = run(workflow, folder)
    rows = [
        ["the command", *(f"{seconds:.0f}" for seconds in first)],
        ["its workflow, where all answers are kept", *(f"{seconds:.0f}" for seconds in again)],
        [
            f"answering {made_instances:,} instances, the longest of {len(timings)} jobs",
            f"{max(timings):.0f}",
            "",
        ],
    ]
    print_table(
        [
            f"`--minutes {arguments.minutes:g}`, {os.cpu_count()} cores; seconds",
            "clock",
            "processor",
        ],
        rows,
    )


if __name__ == "__main__":
    main()
