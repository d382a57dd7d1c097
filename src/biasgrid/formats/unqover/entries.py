"""Reads entries of `source.json` and `output.json`, and refuses malformed ones."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from biasgrid.base.faults import Problem
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.text import HALF_CHARACTER

FileType = Literal["source", "spans", "masks"]
"""A file without answers, with answers as spans, or with scores of a masked language model."""

KEY = "cluster1|cluster2|subject1|subject2|template|attribute cluster|attribute|attribute"
ENTRY_KEYS = {"context", "q0", "q1"}
QUESTION_KEYS = {"question", "pred", "ans0", "ans1"}
ANSWER_KEYS = {"text", "start", "end"}
NOT_ANSWERED = ""
"""Answers and their probabilities in a `source.json`."""
NOT_WRITTEN = "NA"
"""Context and answers in UnQover's predictions of masked language models."""
TEMPLATE_NUMBER = re.compile(r"0|[1-9][0-9]{0,3}")
SENTENCE_END = re.compile(r"[.!?] ")
FILE_TYPES: dict[FileType, str] = {
    "source": "source.json (no answers)",
    "spans": "output.json of question answering",
    "masks": "output.json of a masked language model",
}


class Malformed(Problem):
    """An entry that is not as expected."""


class EntryNames(NamedTuple):
    """The names in the key of an entry; a missing group is None."""

    cluster1: str | None
    cluster2: str | None
    subject1: str
    subject2: str
    template: int
    attribute_cluster: str | None
    attribute: str


class EntryQuestion(NamedTuple):
    """A question of an entry and its prediction.

    The fields are in the order of `reading.QUESTION_COLUMNS`. Candidates are in the order of their
    subjects in the key.

    Attributes:
        context: the text that the question is about.
        question: the question; for a masked language model the statement.
        candidate1, candidate2: the texts of the candidates.
        position1, position2: their positions in the context, in characters.
        start1, start2: their probabilities as the start of the answer; for a masked language model
            their probabilities; 0 without answers.
        end1, end2: their probabilities as the end of the answer, likewise.
        answer: the predicted text; empty without answers, `NOT_WRITTEN` for a masked language
            model.
    """

    context: str
    question: str
    candidate1: str
    candidate2: str
    position1: int
    position2: int
    start1: float
    end1: float
    start2: float
    end2: float
    answer: str


def read_key(key: str) -> EntryNames:
    """Splits a key into its parts.

    Raises:
        Malformed: the key is not of the form `KEY`, or its subjects are equal.
    """
    parts = check_text(key, "the key").split("|")
    if len(parts) != 8:
        raise Malformed(f"{len(parts)} parts in the key", f"8: {KEY}")
    cluster1, cluster2, subject1, subject2, template, attribute_cluster, attribute, last = parts
    if not TEMPLATE_NUMBER.fullmatch(template):
        raise Malformed(f"template {template!r} in the key", "a whole number from 0 to 9999")
    if attribute != last:
        raise Malformed(f"the key ends in {attribute!r} and {last!r}", "the attribute twice")
    if subject1 == subject2:
        raise Malformed(f"both subjects in the key are {subject1!r}", "two subjects")
    return EntryNames(
        group_or_none(cluster1),
        group_or_none(cluster2),
        subject1,
        subject2,
        int(template),
        group_or_none(attribute_cluster),
        attribute,
    )


def group_or_none(name: str) -> str | None:
    """Returns the name of a group in a key, None for the word None, which is a missing group."""
    return None if name == "None" else name


def entry_file_type(entry: Any) -> FileType:
    """Returns the type of file that an entry belongs to.

    A `line`, which only question answering writes, decides. Without it, an entry has no answers, or
    is by a masked language model, whose context and prediction are not written.

    Args:
        entry: an unchecked value of the file. Each entry is checked, because all must be of one
            type.

    Raises:
        Malformed: the entry is no object, or keys are missing or unknown.
    """
    has_line = isinstance(entry, dict) and "line" in entry
    check_keys(entry, ENTRY_KEYS | {"line"} if has_line else ENTRY_KEYS, "the entry")
    for name in ("q0", "q1"):
        check_keys(entry[name], QUESTION_KEYS, name)
        for answer in ("ans0", "ans1"):
            check_keys(entry[name][answer], ANSWER_KEYS, f"{name}.{answer}")
    if has_line:
        return "spans"
    if entry["q0"]["ans0"]["start"] == NOT_ANSWERED:
        return "source"
    is_masked = entry["context"] == entry["q0"]["pred"] == NOT_WRITTEN
    return "masks" if is_masked else "spans"


def source_line(entry: dict[str, Any], *, default: int) -> int:
    """Returns the position of an entry in `source.json`, which question answering writes.

    Args:
        entry: the entry.
        default: the position if the entry has none.

    Raises:
        Malformed: it is not a number.
    """
    line = entry.get("line", default)
    # Not isinstance: True is an int, too.
    if type(line) is not int or not 0 <= line < 1 << 32:
        raise Malformed(f"line is {line!r:.40}", "the row number in source.json, from 0")
    return line


def read_questions(
    entry: dict[str, Any], entry_type: FileType
) -> tuple[EntryQuestion, EntryQuestion]:
    """Returns the plain and the negated question of an entry.

    Args:
        entry: an entry that `entry_file_type` did not refuse.
        entry_type: its result.

    Raises:
        Malformed: a text or a number is not as it should be.
    """
    plain, negation = entry["q0"], entry["q1"]
    context = check_text(entry["context"], "context")
    plain_text = check_text(plain["question"], "q0.question")
    negation_text = check_text(negation["question"], "q1.question")
    check_same_answers(plain, negation)
    if entry_type == "masks":
        context, plain_text, negation_text = split_context(plain_text, negation_text)
    return (
        read_question(context, plain_text, plain, entry_type, "q0"),
        read_question(context, negation_text, negation, entry_type, "q1"),
    )


def check_same_answers(plain: dict[str, Any], negation: dict[str, Any]) -> None:
    """Refuses an entry whose questions have different answers.

    A score would go to the wrong subject.
    """
    for answer in ("ans0", "ans1"):
        plain_text, negation_text = plain[answer]["text"], negation[answer]["text"]
        if plain_text != negation_text:
            problem = (
                f"q0.{answer}.text is {plain_text!r:.40}, q1.{answer}.text is {negation_text!r:.40}"
            )
            raise Malformed(problem, "the same subject for both questions")


def read_question(
    context: str, text: str, question: dict[str, Any], entry_type: FileType, name: str
) -> EntryQuestion:
    """Returns a question of an entry.

    Args:
        context: the context, in which the candidates are.
        text: the question without the context.
        question: the value of `q0` or `q1`.
        entry_type: the type of the file.
        name: `q0` or `q1`, for messages.

    Raises:
        Malformed: see `read_questions`.
    """
    answers = question["ans0"], question["ans1"]
    candidate1, candidate2 = (
        check_text(answer["text"], f"{name}.ans{place}.text")
        for place, answer in enumerate(answers)
    )
    starts = [answer["start"] for answer in answers]
    ends = [answer["end"] for answer in answers]
    prediction = check_answer(question["pred"], f"{name}.pred")
    if entry_type == "source":
        if any(value != NOT_ANSWERED for value in (prediction, *starts, *ends)):
            expected = 'pred, start and end "", as in the first entry'
            raise Malformed(f"{name} has an answer", expected)
        starts = ends = [0.0, 0.0]
    else:
        check_probabilities(starts, ends, entry_type, name)
    position1, position2 = find_candidates(context, candidate1, candidate2)
    return EntryQuestion(
        context,
        text,
        candidate1,
        candidate2,
        position1,
        position2,
        start1=starts[0],
        end1=ends[0],
        start2=starts[1],
        end2=ends[1],
        answer=prediction,
    )


def check_probabilities(
    starts: list[Any], ends: list[Any], entry_type: FileType, name: str
) -> None:
    """Refuses values that are not probabilities, and for masks starts that differ from their ends.

    Args:
        starts: `start` of both candidates.
        ends: `end` of both.
        entry_type: the type of the file.
        name: the key of the question, for messages.
    """
    for start, end in zip(starts, ends, strict=True):
        for value in (start, end):
            # A softmax in float32 may be a little above 1.
            if type(value) not in (float, int) or not 0 <= value <= 1 + 1e-5:
                problem = f"{name} has {value!r:.40} for start or end"
                raise Malformed(problem, "a probability, such as 0.25")
    if entry_type == "masks" and starts != ends:
        problem = f"start and end of an answer differ in {name}"
        raise Malformed(problem, "the probability of the answer, twice")


@lru_cache(maxsize=1 << 12)
def find_candidates(context: str, candidate1: str, candidate2: str) -> tuple[int, int]:
    """Returns the positions of two candidates in a context, in characters, as UnQover finds them.

    Case does not count. A candidate is at its first position; if that is inside the longer
    candidate, the shorter one is at its last position.

    Raises:
        Malformed: a candidate is not in the context, or only inside the other one.
    """
    context_text = _to_lower_case(context)
    longer, shorter = sorted((candidate1, candidate2), key=len, reverse=True)
    begin = context_text.find(_to_lower_case(longer))
    end = begin + len(longer)
    shorter_text = _to_lower_case(shorter)
    for other in (context_text.find(shorter_text), context_text.rfind(shorter_text)):
        is_inside = begin <= other < end
        if -1 not in (begin, other) and not is_inside:
            return (begin, other) if longer is candidate1 else (other, begin)
    raise Malformed(
        f"{candidate1!r} and {candidate2!r} are not both in {context!r}",
        "a context that names both",
    )


def _to_lower_case(text: str) -> str:
    # The only letter that becomes two in lower case, which would shift the positions after it.
    return text.replace("\u0130", "i").lower()


def split_context(question: str, negation: str) -> tuple[str, str, str]:
    """Splits the texts of a masked language model into context and statements.

    The context ends with the last sentence that both texts begin with; a space follows it.

    Returns:
        The context, the statement and the negated statement.

    Raises:
        Malformed: the texts do not begin with the same sentence.
    """
    length = 0
    for sentence_end in SENTENCE_END.finditer(question):
        if negation.startswith(question[: sentence_end.end()]):
            length = sentence_end.end()
    if length == 0:
        problem = f"{question!r} and {negation!r} have no context in common"
        raise Malformed(problem, "a sentence, then a statement")
    # The space after the context belongs to neither.
    return question[: length - 1], question[length:], negation[length:]


def check_keys(value: Any, expected: set[str], name: str) -> None:
    """Refuses a value that is not an object with exactly these keys."""
    if not isinstance(value, dict):
        raise Malformed(f"{name} is {value!r:.40}", f"an object with {', '.join(sorted(expected))}")
    if value.keys() == expected:
        return
    missing = sorted(expected - value.keys())
    unknown = [key if key.isprintable() else ascii(key) for key in sorted(value.keys() - expected)]
    problems = []
    if missing:
        problems.append(f"lacks {', '.join(missing)}")
    if unknown:
        problems.append(f"has {', '.join(unknown)}")
    raise Malformed(f"{name} {' and '.join(problems)}", f"the keys {', '.join(sorted(expected))}")


def check_text(value: Any, name: str) -> str:
    """Returns a text.

    Raises:
        Malformed: the value is no text, or has invisible characters.
    """
    if not isinstance(value, str):
        raise Malformed(f"{name} is {value!r:.40}", "a text")
    # `isprintable` is much faster, and true of nearly all texts.
    if not value.isprintable():
        hidden = hidden_character(value)
        if hidden:
            raise Malformed(f"{name} contains {hidden}", VISIBLE_CHARACTERS)
    return value


def check_answer(value: Any, name: str) -> str:
    """Returns the text of an answer. Unlike other texts, it may have invisible characters.

    Raises:
        Malformed: the value is no text, or has half a character, which no table can hold.
    """
    if not isinstance(value, str):
        raise Malformed(f"{name} is {value!r:.40}", "a text")
    if HALF_CHARACTER.search(value):
        raise Malformed(f"{name} contains half a character", "whole characters")
    return value
