"""The counterfactual family: inference and measures, each against scoring one text, or one pool, at
a time.

Inference is that of a model of bert-base's size with random weights on one core. The baseline is
BiaXposer's: a forward pass for each text, with gradients. Seconds are those of the processor, on
which other work on the machine has little influence; rounds of all ways follow one another, and the
median counts.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import torch
from inference import engine_of, make_tokenizer, run_engine
from sklearn.metrics import f1_score
from stopwatch import measure, print_table
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertTokenizerFast,
)

from biasgrid.families.counterfactual.ask import expand
from biasgrid.families.counterfactual.pack import CasePackFiles
from biasgrid.families.counterfactual.read import read
from biasgrid.groups.measures import distance, measure_groups
from biasgrid.groups.records import ClassOutputs, Records
from biasgrid.groups.scores import score_records
from biasgrid.inference.engine.local import LocalBackEnd
from biasgrid.inference.models.extractive.back_end import QuestionAnswering, SpanChoices
from biasgrid.inference.models.masked.back_end import FillMask, MaskChoices
from biasgrid.inference.models.predict import with_keys
from biasgrid.inference.models.text_classification import ClassChoices, TextClassification
from biasgrid.stats.sums import Sums, values_table

CASES = {"columnar": 5000, "loop": 500}
GROUPS, TERMS = 2, 3
PACKS = Path("word_lists/counterfactual")
ROWS = {"one text at a time": 60, "engine, float32": 600, "engine, bfloat16": 600}
"""How many instances of a pack each way predicts, at even distances from the first to the last."""
ROUNDS = 3


class Task(NamedTuple):
    """A task of the models: its class, what predicts one text at a time, and what does so for the
    engine.
    """

    model: type[Any]
    one_by_one: Callable[[Any, BertTokenizerFast, pl.DataFrame], None]
    back_end: type[LocalBackEnd]
    choices: Any
    labels: tuple[str, ...] = ()


def classify(model: Any, tokenizer: BertTokenizerFast, rows: pl.DataFrame) -> None:
    for text, pair in rows.select("text", "text_pair").iter_rows():
        model(**tokenizer(text, pair, truncation=True, return_tensors="pt")).logits.softmax(
            1
        ).tolist()


def fill(model: Any, tokenizer: BertTokenizerFast, rows: pl.DataFrame) -> None:
    for text, *candidates in rows.select("text", "^candidate.*$").iter_rows():
        inputs = tokenizer(text, truncation=True, return_tensors="pt")
        mask = int((inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero())
        probabilities = model(**inputs).logits[0, mask].softmax(0).detach()
        [
            float(probabilities[tokenizer.convert_tokens_to_ids(word)])
            for word in filter(None, candidates)
        ]


def answer(model: Any, tokenizer: BertTokenizerFast, rows: pl.DataFrame) -> None:
    for question, context in rows.select("text", "text_pair").iter_rows():
        inputs = tokenizer(question, context, truncation=True, return_tensors="pt")
        output = model(**inputs)
        start, end = int(output.start_logits.argmax()), int(output.end_logits.argmax())
        tokenizer.decode(inputs["input_ids"][0, start : end + 1])


CLASSES = ("LABEL_0", "LABEL_1", "LABEL_2")
TASKS = {
    "sentiment-3": Task(
        BertForSequenceClassification, classify, TextClassification, ClassChoices(CLASSES), CLASSES
    ),
    "entailment": Task(
        BertForSequenceClassification, classify, TextClassification, ClassChoices(CLASSES), CLASSES
    ),
    "masked": Task(
        BertForMaskedLM, fill, FillMask, MaskChoices(target_scoring="joint", ranks=True)
    ),
    "question-answering": Task(BertForQuestionAnswering, answer, QuestionAnswering, SpanChoices()),
}
"""By the name of the pack."""


def instances(pack: str) -> pl.DataFrame:
    files = CasePackFiles(
        PACKS / f"templates/{pack}.json", PACKS / "fillings", PACKS / "groups.json"
    )
    expanded = pl.concat(expand(read(files)[0]).parts)
    return expanded.cast({pl.String: pl.Categorical})


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def infer(pack: str) -> list[list[str]]:
    """Measures all ways to predict instances of a pack; returns the lines of a table."""
    task, every = TASKS[pack], with_keys(instances(pack))
    files = [path for path in PACKS.rglob("*") if path.suffix in (".json", ".txt")]
    model, tokenizer = (
        task.model(BertConfig(num_labels=len(task.labels) or 2)).eval(),
        make_tokenizer(files),
    )
    engines = {
        f"engine, {precision}": engine_of(task.back_end, model, tokenizer, task.choices, precision)
        for precision in ("float32", "bfloat16")
    }
    rates: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for way, count in ROWS.items():
            rows = every[np.linspace(0, len(every) - 1, count, dtype=np.int64)]
            work = (
                partial(run_engine, engines[way])
                if way in engines
                else partial(task.one_by_one, model, tokenizer)
            )
            rates[way].append(count / processor_seconds(lambda: work(rows)))
    medians = {way: median(each) for way, each in rates.items()}
    slowest = medians["one text at a time"]
    return [[pack, way, f"{rate:.1f}", f"{rate / slowest:.2f}"] for way, rate in medians.items()]


def make_records(cases: int) -> Records:
    random = np.random.default_rng(1)
    case, group, term = (axis.ravel() for axis in np.indices((cases, GROUPS, TERMS)))
    first = random.random(len(case))
    outputs = ClassOutputs(np.stack([first, 1 - first], axis=1), random.integers(0, 2, len(case)))
    names = (
        [f"group {number}" for number in range(GROUPS)],
        [f"term {number}" for number in range(GROUPS * TERMS)],
    )
    return Records(
        case,
        case // 50,
        np.zeros_like(case),
        group,
        group * TERMS + term,
        ["bias"],
        *names,
        outputs,
    )


def columnar(records: Records) -> float:
    """The mean over cases of the pairwise difference of F1."""
    whole, *_ = distance(
        score_records(records, "f1", "macro"), "absolute", "pairwise", "counterfactual"
    )
    return float(values_table([whole])["value"].item())


def loop(records: Records) -> float:
    """The same, pool by pool."""
    pools: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row, (case, group) in enumerate(zip(records.case, records.group, strict=True)):
        pools[case][group].append(row)
    assert isinstance(records.outputs, ClassOutputs)
    gold, predicted = records.outputs.gold, records.outputs.probabilities.argmax(axis=1)
    values = []
    for groups in pools.values():
        scores = [
            f1_score(gold[rows], predicted[rows], average="macro", zero_division=0)
            for rows in groups.values()
        ]
        values.append(np.mean([abs(one - other) for one, other in combinations(scores, 2)]))
    return float(np.mean(values))


def everything(records: Records) -> list[Sums | pl.DataFrame]:
    """All measures that there are, with those of pairs and of templates."""
    return list(measure_groups(records, None, 0.1))


def timed(compute: Callable[[Records], object], cases: int) -> float:
    records = make_records(cases)
    compute(make_records(2))  # What is imported and compiled at the first call.
    return processor_seconds(lambda: compute(records))


def measures() -> list[list[str]]:
    """Measures all ways to compare groups; returns the lines of a table."""
    few = make_records(CASES["loop"])
    assert abs(columnar(few) - loop(few)) < 1e-12
    ways: dict[str, tuple[Callable[[Records], object], int]] = {
        "F1 in each case": (columnar, CASES["columnar"]),
        "F1 in each case, loop": (loop, CASES["loop"]),
        "all measures": (everything, CASES["columnar"]),
    }
    rates, table = {}, []
    for way, (compute, cases) in ways.items():
        seconds, megabytes = measure(partial(timed, compute, cases))
        rates[way] = cases / seconds
        table.append(
            [way, f"{cases:,}", f"{seconds:.4f}", f"{rates[way]:,.0f}", f"{megabytes:,.0f}"]
        )
    for line in table:
        line.append(
            f"{rates[line[0]] / rates['F1 in each case, loop']:.0f}"
            if line[0].startswith("F1")
            else ""
        )
    return table


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print_table(["way", "cases", "seconds", "cases/s", "peak MB", "ratio"], measures())
    print()
    print_table(
        ["pack", "way", "instances/s", "ratio"], [line for pack in TASKS for line in infer(pack)]
    )


if __name__ == "__main__":
    main()
