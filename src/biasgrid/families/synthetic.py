"""Synthetic bias in all families: its strength, the draw of answers, and the files.

Each family that can have synthetic bias has a module `synthetic` with `known_effects` and `corpus`:
see `SyntheticFamily`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Protocol
from zlib import crc32

import numpy as np
import polars as pl

from biasgrid.base.files import write_text
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import MEASURE_KEYS, SYNTHETIC
from biasgrid.training.strength import Strength, total_strength

CORPUS_TEXTS = ("system", "text_pair", "text")
"""What models read, in the order in which those that write read it."""
CANDIDATE = "candidate"
"""How the columns of the texts that may be answered begin."""


@dataclass(frozen=True)
class SyntheticBias:
    """The known effect in a dataset.

    Attributes:
        dataset: the dataset's name in the config.
        strength_name: the strength's name in the config.
        strength: how strong it is, from 0 (nothing is put in) to 1; each family says of what. A
            number is the part by name of underspecified questions, and elsewhere the part by group.
        repeats: how many answers, or labels, each instance gets in a corpus.
        seed: seed of the known effect and of the answers.
        spread: by how much the known effect in underspecified questions differs at most between
            their templates.
        labels: of text classification, the names of the classes 0, 1, ...
        measure_options: the return value of the family's `synthetic_options` for the dataset.
    """

    dataset: str
    strength_name: str
    strength: float | Strength
    repeats: int
    seed: int
    spread: float = 0.0
    labels: Sequence[str] = ()
    measure_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Checks that the strength plants probabilities.

        Raises:
            ValueError: it is not in 0..1, or not with the spread.
        """
        if not 0 <= self.total <= self.total + self.spread <= 1:
            problem = f"strength {self.total} with spread {self.spread} is not in 0..1"
            raise ValueError(f"{problem}, so it would make probabilities outside 0..1")

    @property
    def total(self) -> float:
        """How strong all parts are together."""
        return total_strength(self.strength)

    def parts(self, of_number: Literal["group", "name"] = "group") -> Strength:
        """Returns the parts of the strength; `of_number` is the part that a mere number is."""
        if isinstance(self.strength, Strength):
            return self.strength
        return Strength(**{of_number: self.strength})


class SyntheticFamily(Protocol):
    """The module `synthetic` of a family; it may leave out `ANSWERS`.

    Attributes:
        ANSWERS: what models of it may answer beside the candidates of instances.
    """

    ANSWERS: Sequence[str]

    def known_effects(self, instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
        """Returns the numbers of a model that has learned the corpus (schema `SYNTHETIC`)."""

    def corpus(self, instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
        """Returns the corpus of models of a task, in the format of their training data."""


def write_synthetic(
    family: SyntheticFamily,
    instances: Mapping[str, pl.DataFrame],
    synthetic_biases: Sequence[SyntheticBias],
    corpora: Mapping[str, str],
    path: str | Path,
    provenance: Mapping[str, Any],
) -> None:
    """Writes the known effects in a dataset, the corpora, and the words of their texts.

    The corpora lie in a folder per strength; the words in `words.json`, in a list for each task, so
    that models of one task are made of the same words whatever others are asked.

    Args:
        family: where `known_effects` and `corpus` are.
        instances: for each task what its models are asked; the known effect is the same in all of
            them.
        synthetic_biases: the known effect, by strength.
        corpora: the name of the corpus' file for each task.
        path: where the table (schema `SYNTHETIC`) goes.
        provenance: what the table shall carry.
    """
    folder = Path(path).parent
    of_one_task = next(iter(instances.values()))
    effects = pl.concat(family.known_effects(of_one_task, bias) for bias in synthetic_biases)
    write_table(effects, path, SYNTHETIC, provenance)
    for bias in synthetic_biases:
        for task, of_task in instances.items():
            corpus = family.corpus(of_task, task, bias)
            write_text(folder / bias.strength_name / corpora[task], corpus)
    answered = {word for text in getattr(family, "ANSWERS", ()) for word in text.split()}
    words = {}
    for task, of_task in instances.items():
        words[task] = sorted({*words_of_instances(of_task), *answered})
    write_text(folder / "words.json", json.dumps(words, indent=1, ensure_ascii=False) + "\n")


def words_of_instances(instances: pl.DataFrame) -> list[str]:
    """Returns the words of questions and candidates, with adjacent punctuation."""
    words: set[str] = set()
    for name in instances.columns:
        if name in CORPUS_TEXTS or name.startswith(CANDIDATE):
            for text in instances[name].drop_nulls().unique().cast(pl.String):
                words.update(text.split())
    return sorted(words)


def known_effect_rows(
    values: pl.DataFrame, bias: SyntheticBias, measure: str, measure_options: str = ""
) -> pl.DataFrame:
    """Makes rows of `SYNTHETIC` from `value` and its keys; the other keys are null."""
    columns = {key: pl.lit(None) for key in MEASURE_KEYS if key not in values.columns}
    columns["strength"] = pl.lit(bias.strength_name)
    columns["dataset"] = pl.lit(bias.dataset)
    columns["measure"] = pl.lit(measure)
    columns["options"] = pl.lit(measure_options)
    types = pl.Schema({name: column.dtype.type for name, column in SYNTHETIC.columns.items()})
    return values.with_columns(**columns).select(types.names()).cast(types)


def line_of_answers(row: Mapping[str, Any], counts: Sequence[int], others: int = 0) -> str:
    """Writes a line of a corpus for masked and generative models: a text, and tabbed answers.

    Args:
        row: an instance; spaces take the place of its texts' line ends.
        counts: how often each of its candidates is the answer.
        others: how many more answers are no candidate, but the last word of what is asked.
    """
    read = " ".join(filter(None, (row[name] for name in CORPUS_TEXTS)))
    fields = [read.replace("\n", " ")]
    for number, count in enumerate(counts, start=1):
        fields += [row[f"{CANDIDATE}{number}"]] * count
    last_word: list[str] = re.findall(r"\w+", row["text"])[-1:]
    return "\t".join([*fields, *last_word * others])


def squad_of_answers(
    answered: Iterable[tuple[Mapping[str, Any], Sequence[int]]], bias: SyntheticBias
) -> str:
    """Writes a corpus for extractive question answering, in the format of SQuAD v1.1.

    See Rajpurkar et al., EMNLP 2016.

    Args:
        answered: instances, and how often each of their candidates is the answer.
        bias: names the dataset.

    Returns:
        JSON: an article for the dataset, a paragraph per distinct context, a question per instance,
        with the answers of several annotators.
    """
    paragraphs: dict[str, list[dict[str, Any]]] = {}
    for row, counts in answered:
        answers: list[dict[str, Any]] = []
        for side, count in zip((1, 2), counts, strict=True):
            start = row[f"position{side}"]
            answer = {"text": row[f"{CANDIDATE}{side}"], "answer_start": start}
            answers += [answer] * count
        question = {
            "id": f"{bias.dataset}-{row['instance']}",
            "question": row["text"],
            "answers": answers,
        }
        paragraphs.setdefault(row["text_pair"], []).append(question)
    texts = [{"context": context, "qas": questions} for context, questions in paragraphs.items()]
    article = {"title": bias.dataset, "paragraphs": texts}
    return json.dumps({"version": "1.1", "data": [article]})


def counts_of_two(row: Mapping[str, Any], repeats: int) -> tuple[int, int]:
    """Returns how often each of two candidates is the answer, the first of which is put in."""
    return row["count"], repeats - row["count"]


def corpus_of_answers(
    probabilities: Callable[[pl.DataFrame, SyntheticBias], pl.DataFrame],
    together: Sequence[str],
    once: Sequence[str] = (),
    counts: Callable[[Mapping[str, Any], int], Sequence[int]] = counts_of_two,
) -> Callable[[pl.DataFrame, str, SyntheticBias], str]:
    """Makes the function `corpus` of a family out of the probabilities of its answers.

    Args:
        probabilities: returns instances with `probability`, the share of their answers that is put
            in.
        together: the columns in which instances agree whose answers are drawn together, see
            `with_counts`.
        once: the columns by which a text is in the corpus once, however often it is asked; none
            where all count.
        counts: from a row, whose `count` is how many of its answers are put in, and the number of
            all of them to how often each candidate is the answer.

    Returns:
        What makes SQuAD's JSON for question answering and for other tasks a line per text: what is
        read, and each answer behind a tab. The seed of the bias seeds their draw.
    """

    def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
        texts = probabilities(instances, bias)
        if once:
            texts = texts.unique(once, keep="first", maintain_order=True)
        repeats = bias.repeats
        if task == "fill-mask":
            # Of masked models, a share of the answers may be no candidate.
            repeats = round(bias.parts().mass * bias.repeats)
        expected = repeats * pl.col("probability")
        drawn = with_counts(texts, expected, together, bias).sort("instance")
        answered = ((row, counts(row, repeats)) for row in drawn.iter_rows(named=True))
        if task == "question-answering":
            return squad_of_answers(answered, bias)
        others = bias.repeats - repeats
        return text_lines(line_of_answers(row, of_row, others) for row, of_row in answered)

    return corpus


def text_lines(lines: Iterable[str]) -> str:
    """Writes lines of text."""
    return "".join(f"{line}\n" for line in lines)


def hashed_weight(bias: SyntheticBias, *names: str) -> float:
    """Returns a weight for some names, uniform in -1/2..1/2.

    It is a hash, so that no list and no order sways it.
    """
    content = "\t".join((str(bias.seed), bias.dataset, *names))
    digest = sha256(content.encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 - 0.5


def even_steps(groups: pl.DataFrame, bias: SyntheticBias) -> pl.Series:
    """Returns how much each group has of the part by group, in 0..its strength.

    In each bias type it is 0 for one group, the strength for another, and of the others in even
    steps between.

    Args:
        groups: `bias_type` and `group`, strings, each pair once.
        bias: its seed decides which group has how much.
    """
    names = groups.select("bias_type", "group").iter_rows()
    weights = [hashed_weight(bias, group, bias_type) for bias_type, group in names]
    ordered = groups.select("bias_type", order=pl.Series(weights, dtype=pl.Float64))
    place = (pl.col("order").rank() - 1).over("bias_type")
    # A group alone has the first place, and the last one is no 0 to divide by.
    last = pl.max_horizontal(pl.len().over("bias_type") - 1, 1)
    return ordered.select(bias.parts().group * (place / last)).to_series()


def own_parts(names: pl.DataFrame, bias: SyntheticBias) -> pl.Series:
    """Returns how much each name has of the part by name: uniform in 0..its strength, by hashing.

    Args:
        names: strings that tell names apart, such as group and term; a name that is null has half
            of the strength.
        bias: its seed decides which name has how much.
    """
    strength = bias.parts().name
    if not strength:
        return pl.repeat(0.0, len(names), eager=True)
    parts = {}
    for name in names.unique().iter_rows():
        share = 0.5
        if None not in name:
            share += hashed_weight(bias, "own part", *name)
        parts[name] = strength * share
    return pl.Series([parts[name] for name in names.iter_rows()], dtype=pl.Float64)


def shares_of_rows(groups: pl.DataFrame, names: pl.DataFrame, bias: SyntheticBias) -> pl.Series:
    """Returns the share of the known effect in each row: its group's part and its name's part.

    Args:
        groups: `bias_type` and `group` of each row; a row without a group has no share.
        names: see `own_parts`.
        bias: see `even_steps`.
    """
    distinct = groups.drop_nulls().unique(maintain_order=True)
    parts = distinct.with_columns(share=even_steps(distinct, bias))
    joined = groups.join(parts, on=["bias_type", "group"], how="left", maintain_order="left")
    return joined["share"] + own_parts(names, bias)


def with_counts(
    frame: pl.DataFrame, expected: pl.Expr, line: Sequence[str], bias: SyntheticBias
) -> pl.DataFrame:
    """Adds `count`, whole numbers with given expectations; rows come in random order.

    Systematic sampling: the rows that are drawn together stand on a line, each as long as the
    number that it expects, and every whole number on the line, randomly shifted, counts for the row
    where it lies. Rows and their totals are then within one of what is expected, where independent
    draws would blur a weak bias.

    Args:
        frame: the rows.
        expected: the expectation of each row.
        line: the columns in which rows that are drawn together agree.
        bias: its dataset has random numbers of its own, which its seed decides.
    """
    random = np.random.default_rng([bias.seed, crc32(bias.dataset.encode())])
    shift = pl.Series("shift", random.random(frame.height))
    frame = frame.with_columns(shift, expected=expected)[random.permutation(frame.height)]
    place = (pl.col("expected").cum_sum() + pl.col("shift").first()).floor()
    count = place.diff().fill_null(place).over(line).cast(pl.Int64)
    return frame.with_columns(count=count).drop("shift", "expected")
