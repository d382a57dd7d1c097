"""Reads pairs of sentences from files of CrowS-Pairs, of StereoSet, or of your own.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault, InputError, one_of, value_text
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.records import JsonRecord, Record, table_records
from biasgrid.base.text import read_json
from biasgrid.families.sampling import Sample, sample_content
from biasgrid.inference.scorings import BLANK

STEREO, ANTISTEREO = "stereo", "antistereo"
DIRECTIONS = {STEREO: STEREO, ANTISTEREO: ANTISTEREO, "0": STEREO, "1": ANTISTEREO}
"""Directions by the words of the files. The copy in lm-evaluation-harness has class numbers."""
MORE, LESS, UNRELATED = "more", "less", "unrelated"
ROLES = (MORE, LESS, UNRELATED)
"""Roles of sentences: stating the stereotype more, stating it less, or having nothing to do with
it.
"""
INTRASENTENCE: Literal["intrasentence"] = "intrasentence"
INTERSENTENCE: Literal["intersentence"] = "intersentence"
TASKS = (INTRASENTENCE, INTERSENTENCE)
"""StereoSet's tasks: a word fills a blank, or a sentence follows another one."""
ALONE, PARTNER, CONTEXT, CHOICE = "alone", "partner", "context", "choice"
"""Variants of a dataset: a model reads a sentence alone, beside its partner or its context, or it
chooses between both sentences.
"""


@dataclass(frozen=True)
class PairFiles:
    """The files of a dataset and the options that determine its instances.

    A further option that the pairs do not show must also be in `PairSet.digest`.

    Attributes:
        files: the files.
        layout: their layout, a key of `LAYOUTS`.
        tasks: the tasks of StereoSet that are read; empty for other layouts.
        variant: `ALONE`, `PARTNER`, `CONTEXT` or `CHOICE`.
        prompt: the prompt of `CHOICE`, otherwise empty.
        system: the system text of `CHOICE`, if any.
        sample: the sample of clusters, or None to ask all.
    """

    files: tuple[Path, ...]
    layout: str
    tasks: tuple[str, ...]
    variant: str
    prompt: str
    system: str | None
    sample: Sample | None


@dataclass(frozen=True)
class SentencePair:
    """Two sentences that differ in the group they are about, or in the attribute they ascribe.

    Attributes:
        name: id of the pair, unique in a dataset.
        more_stereotypical: the sentence that states the stereotype more.
        less_stereotypical: the sentence that states it less.
        type: the bias type.
        direction: which sentence is about the disadvantaged group: `stereo` if it is the more
            stereotypical one, `antistereo` if it is the other, None if unknown.
        cluster: shared by pairs that reword each other; None if a pair is a cluster of its own.
        writer: CrowS-Pairs: who wrote the pair, None if unknown.
        is_doubted: CrowS-Pairs: whether at most two annotators named the bias type; None without
            annotations.
        target: StereoSet: the target term, such as `gardener`.
        task: StereoSet: one of `TASKS`.
        context: StereoSet: the sentence with the blank, or the sentence before.
        unrelated: StereoSet: a third, meaningless sentence.
        ids: StereoSet: ids of the sentences in the order of `ROLES`; otherwise empty.
        where: place in the file, for messages.
    """

    name: str
    more_stereotypical: str
    less_stereotypical: str
    type: str
    direction: str | None = None
    cluster: str | None = None
    writer: str | None = None
    is_doubted: bool | None = None
    target: str | None = None
    task: str | None = None
    context: str | None = None
    unrelated: str | None = None
    ids: tuple[str, ...] = ()
    # Not compared: a line that is added above, such as a blank one, changes no digest.
    where: str = field(default="", compare=False)

    def sentence(self, role: str) -> str | None:
        """Returns the sentence of a role; only pairs of StereoSet have an unrelated one."""
        sentences = {
            MORE: self.more_stereotypical,
            LESS: self.less_stereotypical,
            UNRELATED: self.unrelated,
        }
        return sentences[role]

    def sentence_id(self, role: str) -> str:
        """Returns the id of a sentence, by which published scores are matched."""
        return self.ids[ROLES.index(role)] if self.ids else f"{self.name}/{role}"

    @property
    def disadvantaged_role(self) -> str:
        """The role of the sentence about the disadvantaged group; `MORE` if that is unknown.

        The code of Nangia et al. (2020) calls this sentence the first.
        """
        return LESS if self.direction == ANTISTEREO else MORE


@dataclass(frozen=True)
class PairSet:
    """The pairs of a dataset, with the options that determine its instances."""

    files: PairFiles
    pairs: tuple[SentencePair, ...]

    @cached_property
    def templates(self) -> dict[str, int]:
        """Numbers of the clusters, in the order of their first pairs."""
        names = dict.fromkeys(pair.cluster or pair.name for pair in self.pairs)
        return {name: number for number, name in enumerate(names)}

    def template(self, pair: SentencePair) -> int:
        """Returns the number of the cluster of a pair."""
        return self.templates[pair.cluster or pair.name]

    def roles(self, pair: SentencePair) -> list[str]:
        """Returns the role of the sentence that each instance of a pair is about.

        In a choice it is the role of the sentence that comes first.
        """
        # The unrelated sentence has no partner, and is no option to choose.
        roles = ROLES if self.files.variant in (ALONE, CONTEXT) else (MORE, LESS)
        return [role for role in roles if pair.sentence(role) is not None]

    @property
    def instance_count(self) -> int:
        """The number of instances (not of pairs) without a sample."""
        return sum(len(self.roles(pair)) for pair in self.pairs)

    def digest(self) -> str:
        """Returns a digest of everything that determines the instances."""
        files = self.files
        options: dict[str, Any] = {"variant": files.variant}
        if files.variant == CHOICE:
            options |= {"prompt": files.prompt, "system": files.system}
        if files.sample:
            options["sample"] = sample_content(files.sample)
        return digest_fields(options, self.pairs)


def read(files: PairFiles) -> tuple[PairSet, list[Fault]]:
    """Reads the files of a dataset.

    Returns:
        The pairs of the tasks that are asked, and the first faults of all files. There are no
        pairs if a file has faults, other than ids that are used twice.
    """
    faults: list[Fault] = []
    pairs_by_file: list[tuple[Path, SentencePair]] = []
    for path in files.files:
        for pair in LAYOUTS[files.layout].read(path, faults):
            pairs_by_file.append((path, pair))
    if faults:
        # A file with the wrong delimiter has a fault in every row; the first few are enough.
        return PairSet(files, ()), first_faults(faults, files.files[0])

    # Published scores are matched by id, so ids must be unique over all tasks of all files.
    faults += repeated_ids(pairs_by_file)
    pairs_of_tasks = []
    for _, pair in pairs_by_file:
        if pair.task is None or pair.task in files.tasks:
            pairs_of_tasks.append(pair)
    if not pairs_of_tasks:
        of_tasks = f" of {' or '.join(files.tasks)}" if pairs_by_file else ""
        expected = f"pairs in the layout {files.layout}{of_tasks}"
        names = ", ".join(map(str, files.files))
        faults.append(Fault(names, "", f"no pairs{of_tasks}", expected))
    return PairSet(files, tuple(pairs_of_tasks)), first_faults(faults, files.files[0])


def repeated_ids(pairs_by_file: Sequence[tuple[Path, SentencePair]]) -> Iterator[Fault]:
    """Yields a fault for each id of a pair or sentence that was used before.

    Args:
        pairs_by_file: the pairs of all files in the order of the files, each with its file.
    """
    first_use: dict[str, tuple[Path, SentencePair]] = {}
    for path, pair in pairs_by_file:
        for name in (pair.name, *pair.ids):
            if name not in first_use:
                first_use[name] = path, pair
                continue
            first_path, first_pair = first_use[name]
            place = first_pair.where
            if first_path != path:
                place = f"{place} of {first_path.name}"
            problem = f"the id {name} is already in {place}"
            yield Fault(str(path), pair.where, problem, "each id once")


# CrowS-Pairs and tables of your own

CROWS_COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
PLAIN_COLUMNS = ("more", "less", "direction", "type", "cluster")
MOST_IN_DOUBT = 2
"""The type of a pair is in doubt if at most so many of its five annotators named it."""


def read_crows_pairs(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the pairs of CrowS-Pairs (Nangia et al., EMNLP 2020), its revisions and translations.

    Translations lack the columns about annotators and writers. Refused are empty or equal
    sentences, an empty type, an unknown direction, and annotations that are no lists of types.
    Nothing is set aside.
    """
    expected = f"a table of CrowS-Pairs, with the columns {', '.join(CROWS_COLUMNS)}"
    for number, row in enumerate(table_records(path, CROWS_COLUMNS, expected, faults)):
        more_stereotypical, less_stereotypical = read_sentences(row, "sent_more", "sent_less")
        bias_type = row.text("bias_type").strip()
        direction = read_direction(row, "stereo_antistereo", is_needed=True)
        is_doubted = has_few_annotators(row, bias_type)
        # The ids of the original are in a column without a name, as pandas writes an index.
        pair_id = row.optional("") or row.optional("id") or row.optional("index")
        if row.is_valid:
            yield SentencePair(
                name=f"{path.stem} {pair_id or number}",
                more_stereotypical=more_stereotypical,
                less_stereotypical=less_stereotypical,
                type=bias_type,
                direction=direction,
                writer=row.optional("anon_writer"),
                is_doubted=is_doubted,
                where=row.where,
            )


def has_few_annotators(row: Record, bias_type: str) -> bool | None:
    """Whether too few annotators named the bias type; None without annotations."""
    text = row.optional("annotations")
    if text is None:
        return None
    try:
        annotations = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        # `literal_eval` documents all of these for malformed or deeply nested text.
        annotations = None
    if not is_list_with(list, annotations):
        expected = "a list of lists of types, one for each annotator"
        row.add_fault("annotations", repr(text[:40]), expected)
        return None
    return sum(bias_type in types for types in annotations) <= MOST_IN_DOUBT


def is_list_with(kind: type, value: Any) -> bool:
    """Whether a value is a list whose entries are all of a type."""
    return isinstance(value, list) and all(isinstance(entry, kind) for entry in value)


def read_plain(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the pairs of a table of your own; values of direction and cluster may be empty.

    Refused are empty or equal sentences, an empty type, an unknown direction, and a cluster with
    pairs of several types. Nothing is set aside.
    """
    expected = f"a table with the columns {', '.join(PLAIN_COLUMNS)}"
    first_of_cluster: dict[str, tuple[str, str]] = {}
    for number, row in enumerate(table_records(path, PLAIN_COLUMNS, expected, faults)):
        more_stereotypical, less_stereotypical = read_sentences(row, "more", "less")
        bias_type = row.text("type").strip()
        direction = read_direction(row, "direction", is_needed=False)
        cluster = row.optional("cluster")
        if cluster:
            # A cluster is one unit of the statistics. In two bias types, it would make numbers of
            # both vary together, as if they rested on more sentences than they do.
            first_type, where = first_of_cluster.setdefault(cluster, (bias_type, row.where))
            if first_type != bias_type:
                reason = "because the pairs of a cluster reword each other"
                problem = f"{bias_type!r} in cluster {cluster}"
                row.add_fault("type", problem, f"{first_type!r}, as in {where}, {reason}")
        if row.is_valid:
            yield SentencePair(
                name=f"{path.stem} {row.optional('id') or number}",
                more_stereotypical=more_stereotypical,
                less_stereotypical=less_stereotypical,
                type=bias_type,
                direction=direction,
                # Clusters of several files may have the same name.
                cluster=cluster and f"{path.stem} cluster {cluster}",
                where=row.where,
            )


def read_sentences(row: Record, more_field: str, less_field: str) -> tuple[str, str]:
    """Returns both sentences of a row, which must differ."""
    more_stereotypical, less_stereotypical = row.text(more_field), row.text(less_field)
    if more_stereotypical and more_stereotypical == less_stereotypical:
        problem = f"the same sentence as {more_field}"
        row.add_fault(less_field, problem, "two sentences that differ")
    return more_stereotypical, less_stereotypical


def read_direction(row: Record, field_name: str, *, is_needed: bool) -> str | None:
    """Returns the direction of a row, None if it is empty or at fault."""
    value = row.optional(field_name)
    if value is None and not is_needed:
        return None
    if value not in DIRECTIONS:
        problem = "empty" if value is None else repr(value)
        row.add_fault(field_name, problem, one_of(DIRECTIONS))
    return DIRECTIONS.get(value or "")


# StereoSet

GOLD_LABELS = {MORE: "stereotype", LESS: "anti-stereotype", UNRELATED: "unrelated"}
STEREOSET_EXPECTED = "a file of StereoSet: an object `data` with a list of examples for each task"


def read_stereoset(path: Path, faults: list[Fault]) -> Iterator[SentencePair]:
    """Yields the examples of StereoSet (Nadeem et al., ACL 2021) in `dev.json` or `test.json`.

    Refused are examples without an id, target, type or context, without each of the three
    sentences once, or, in the task `intrasentence`, without a single blank. Nothing is set aside.
    """
    try:
        content = read_json(path, STEREOSET_EXPECTED)
    except InputError as error:
        faults += error.faults
        return
    data = content.get("data") if isinstance(content, dict) else None
    if not isinstance(data, dict) or data.keys().isdisjoint(TASKS):
        expected = f"lists of examples by {one_of(TASKS)}"
        faults.append(Fault(str(path), "data", value_text(data), expected))
        return
    for task in TASKS:
        examples = data.get(task, [])
        if not isinstance(examples, list):
            problem = value_text(examples)
            faults.append(Fault(str(path), f"data.{task}", problem, "a list of examples"))
            continue
        for number, values in enumerate(examples):
            where = f"data.{task}[{number}]"
            if not isinstance(values, dict):
                expected = "an example with context, target and sentences"
                faults.append(Fault(str(path), where, value_text(values), expected))
                continue
            example = JsonRecord(path, where, values, faults)
            pair = stereoset_pair(example, task)
            if example.is_valid:
                yield pair


def stereoset_pair(example: JsonRecord, task: str) -> SentencePair:
    """Returns the three sentences of an example; a sentence at fault is an empty text.

    Faults are added to the example, so that the caller must ask whether it `is_valid`.
    """
    name = example.text("id")
    target = example.text("target")
    bias_type = example.text("bias_type").strip()
    context = example.text("context")
    sentences = labelled_sentences(example)
    if task == INTRASENTENCE and context:
        blanks = [word for word in context.split(" ") if BLANK in word]
        if len(blanks) != 1:
            example.add_fault("context", repr(context), f"{BLANK} in one word")
    ids, texts = {}, {}
    for role, label in GOLD_LABELS.items():
        ids[role], texts[role] = sentences.get(label, ("", ""))
    return SentencePair(
        name=name,
        more_stereotypical=texts[MORE],
        less_stereotypical=texts[LESS],
        type=bias_type,
        target=target,
        task=task,
        context=context,
        unrelated=texts[UNRELATED],
        ids=tuple(ids.values()),
        where=example.where,
    )


def labelled_sentences(example: JsonRecord) -> dict[str, tuple[str, str]]:
    """Returns id and text of the sentences by gold label; empty if a label is not there once."""
    sentences = example.values.get("sentences")
    if not isinstance(sentences, list) or not is_list_with(dict, sentences):
        example.add_fault("sentences", value_text(sentences), "a list of three sentences")
        return {}
    # A label may be any JSON value; only texts can be sorted.
    labels = [str(sentence.get("gold_label")) for sentence in sentences]
    if sorted(labels) != sorted(GOLD_LABELS.values()):
        expected = f"{', '.join(GOLD_LABELS.values())}, each once"
        example.add_fault("sentences", f"the gold labels {', '.join(labels)}", expected)
        return {}
    labelled = {}
    for number, (label, values) in enumerate(zip(labels, sentences, strict=True)):
        sentence = example.child(f"sentences[{number}]", values)
        labelled[label] = sentence.text("id"), sentence.text("sentence")
    return labelled


CRITICISM = (
    "Known problems of these pairs: Blodgett et al. (ACL 2021) found significant issues with noise "
    "and reliability in CrowS-Pairs and StereoSet: unnatural and ungrammatical pairs, and targets "
    "that are no groups. The authors of CrowS-Pairs themselves warn that it may not be a good "
    "indicator of the biases of a model."
)


class PairLayout(NamedTuple):
    """A layout of files of pairs; adding one to `LAYOUTS` is all that a new one needs.

    Attributes:
        read: yields the pairs of a file, and adds its faults to a list.
        files: which files have the layout, for the description of the config key.
        criticism: known flaws of the benchmark, for the page; empty if there are none.
        has_tasks: whether pairs belong to `TASKS` and to target terms, as StereoSet's do. Then the
            headlines are means over target terms, and the dataset may say which `tasks` are read.
    """

    read: Callable[[Path, list[Fault]], Iterator[SentencePair]]
    files: str
    criticism: str = ""
    has_tasks: bool = False


LAYOUTS = {
    "crows-pairs": PairLayout(read_crows_pairs, "CrowS-Pairs and its translations", CRITICISM),
    "stereoset": PairLayout(read_stereoset, "StereoSet", CRITICISM, has_tasks=True),
    "plain": PairLayout(read_plain, f"your own tables with the columns {', '.join(PLAIN_COLUMNS)}"),
}
