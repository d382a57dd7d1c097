"""Reads entries of `source.json` and `output.json`, and refuses malformed ones."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from biasgrid.base.faults import Problem
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.text import HALF_CHARACTER

FileType = Literal["source", "spans", "masks"]

KEY = "cluster1|cluster2|subject1|subject2|template|attribute cluster|attribute|attribute"
ENTRY_KEYS = {"context", "q0", "q1"}
QUESTION_KEYS = {"question", "pred", "ans0", "ans1"}
ANSWER_KEYS = {"text", "start", "end"}
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
    """The names in the key of an entry; a group that is missing is None."""

    cluster1: str | None
    cluster2: str | None
    subject1: str
    subject2: str
    template: int
    attribute_cluster: str | None
    attribute: str


class EntryQuestion(NamedTuple):
    """A question of an entry, with its candidates in the order of their subjects in the key, and
    the prediction.
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
        Malformed: it has other parts.
    """
    parts = check_text(key, "the key").split("|")
    if len(parts) != 8:
        raise Malformed(f"{len(parts)} parts in the key", f"8: {KEY}")
    cluster1, cluster2, subject1, subject2, template, attribute_cluster, attribute, repeated = parts
    if not TEMPLATE_NUMBER.fullmatch(template):
        raise Malformed(f"template {template!r} in the key", "a whole number from 0 to 9999")
    if attribute != repeated:
        raise Malformed(f"the key ends in {attribute!r} and {repeated!r}", "the attribute twice")
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
    """Returns the name of a group in a key; a missing group is the word None there."""
    return None if name == "None" else name


def file_type(entry: Any) -> FileType:
    """Returns the kind of file that an entry is of.

    Raises:
        Malformed: keys are missing or unknown.
    """
    has_line = isinstance(entry, dict) and "line" in entry
    check_keys(entry, ENTRY_KEYS | {"line"} if has_line else ENTRY_KEYS, "the entry")
    for name in ("q0", "q1"):
        check_keys(entry[name], QUESTION_KEYS, name)
        for answer in ("ans0", "ans1"):
            check_keys(entry[name][answer], ANSWER_KEYS, f"{name}.{answer}")
    if has_line:
        return "spans"
    if entry["q0"]["ans0"]["start"] == "":
        return "source"
    return "masks" if entry["context"] == entry["q0"]["pred"] == "NA" else "spans"


def read_number(entry: dict[str, Any], number: int) -> int:
    """Returns the row number in `source.json`, which question answering writes.

    Args:
        entry: the entry.
        number: the row number of an entry that has none.

    Raises:
        Malformed: it is not a number.
    """
    line = entry.get("line", number)
    # Not isinstance: True is an int, too.
    if type(line) is not int or not 0 <= line < 1 << 32:
        raise Malformed(f"line is {line!r:.40}", "the row number in source.json, from 0")
    return line


def read_questions(entry: dict[str, Any], kind: FileType) -> tuple[EntryQuestion, EntryQuestion]:
    """Returns the plain and the negated question of an entry that `file_type` has seen.

    Raises:
        Malformed: a text or a number is not as it should be.
    """
    plain, negated = entry["q0"], entry["q1"]
    context = check_text(entry["context"], "context")
    question = check_text(plain["question"], "q0.question")
    negation = check_text(negated["question"], "q1.question")
    check_same_answers(plain, negated)
    if kind == "masks":
        context, question, negation = split_context(question, negation)
    return (
        EntryQuestion(context, question, *read_candidates(context, plain, kind, "q0")),
        EntryQuestion(context, negation, *read_candidates(context, negated, kind, "q1")),
    )


def check_same_answers(plain: dict[str, Any], negated: dict[str, Any]) -> None:
    """Refuses an entry whose questions have different answers.

    A score would go to the wrong subject.
    """
    for answer in ("ans0", "ans1"):
        text, text_of_negation = plain[answer]["text"], negated[answer]["text"]
        if text != text_of_negation:
            problem = (
                f"q0.{answer}.text is {text!r:.40}, q1.{answer}.text is {text_of_negation!r:.40}"
            )
            raise Malformed(problem, "the same subject for both questions")


def read_candidates(
    context: str, question: dict[str, Any], kind: FileType, name: str
) -> tuple[Any, ...]:
    """Returns the fields of an `EntryQuestion` from `candidate1` on.

    Raises:
        Malformed: see `read_questions`.
    """
    first, second = question["ans0"], question["ans1"]
    candidate1 = check_text(first["text"], f"{name}.ans0.text")
    candidate2 = check_text(second["text"], f"{name}.ans1.text")
    numbers = [first["start"], first["end"], second["start"], second["end"]]
    answer = answered_text(question["pred"], f"{name}.pred")
    if kind == "source":
        if any(value != "" for value in (answer, *numbers)):
            expected = 'pred, start and end "", as in the first entry'
            raise Malformed(f"{name} has an answer", expected)
        numbers = [0.0] * 4
    else:
        check_probabilities(numbers, kind, name)
    positions = find_candidates(context, candidate1, candidate2)
    return (candidate1, candidate2, *positions, *numbers, answer)


def check_probabilities(numbers: list[Any], kind: FileType, name: str) -> None:
    """Refuses numbers that are not probabilities, and for masks starts that are not their ends."""
    for number in numbers:
        # A softmax in float32 may be a little above 1.
        if type(number) not in (float, int) or not 0 <= number <= 1 + 1e-5:
            problem = f"{name} has {number!r:.40} for start or end"
            raise Malformed(problem, "a probability, such as 0.25")
    starts, ends = numbers[::2], numbers[1::2]
    if kind == "masks" and starts != ends:
        problem = f"start and end of an answer differ in {name}"
        raise Malformed(problem, "the probability of the answer, twice")


@lru_cache(maxsize=1 << 12)
def find_candidates(context: str, candidate1: str, candidate2: str) -> tuple[int, int]:
    """Returns the places of two candidates in a context, in characters, as UnQover finds them.

    Case does not count. The longer candidate is where it first stands; the other one too, unless
    that is within the longer one: then it is where it last stands.

    Raises:
        Malformed: a candidate is not in the context, or only within the other one.
    """
    lowered = _lowered(context)
    longer, shorter = sorted((candidate1, candidate2), key=len, reverse=True)
    begin = lowered.find(_lowered(longer))
    end = begin + len(longer)
    for other in (lowered.find(_lowered(shorter)), lowered.rfind(_lowered(shorter))):
        is_within = begin <= other < end
        if -1 not in (begin, other) and not is_within:
            return (begin, other) if longer is candidate1 else (other, begin)
    raise Malformed(
        f"{candidate1!r} and {candidate2!r} are not both in {context!r}",
        "a context that names both",
    )


def _lowered(content: str) -> str:
    # The only letter that becomes two in lower case, which would shift the places behind it.
    return content.replace("\u0130", "i").lower()


def split_context(question: str, negated: str) -> tuple[str, str, str]:
    """Splits the texts of a masked language model, which are context, space and statement.

    The context ends with the last sentence that both texts begin with.

    Returns:
        The context, the statement and the negated statement.

    Raises:
        Malformed: the texts do not begin with the same sentence.
    """
    length = 0
    for sentence_end in SENTENCE_END.finditer(question):
        if negated.startswith(question[: sentence_end.end()]):
            length = sentence_end.end()
    if length == 0:
        problem = f"{question!r} and {negated!r} have no context in common"
        raise Malformed(problem, "a sentence, then a statement")
    # The space behind the context belongs to neither.
    return question[: length - 1], question[length:], negated[length:]


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
    """Returns a text; refuses a value that is none, or holds characters that cannot be seen."""
    if not isinstance(value, str):
        raise Malformed(f"{name} is {value!r:.40}", "a text")
    # `isprintable` is much faster, and true of nearly all texts.
    if not value.isprintable():
        hidden = hidden_character(value)
        if hidden:
            raise Malformed(f"{name} contains {hidden}", VISIBLE_CHARACTERS)
    return value


def answered_text(value: Any, name: str) -> str:
    """Returns the text of an answer; refuses a value that is none, or that no table can hold.

    Characters that cannot be seen may well be in an answer.
    """
    if not isinstance(value, str):
        raise Malformed(f"{name} is {value!r:.40}", "a text")
    if HALF_CHARACTER.search(value):
        raise Malformed(f"{name} contains half a character", "whole characters")
    return value
