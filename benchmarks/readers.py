"""How the readers of written answers agree with people.

    python benchmarks/readers.py FOLDER [--json]

Reads every file with labels in a folder, in one of three forms: JSON lines as in
tests/readers/answers; the labelled answers of MCQ-Robustness (Wang et al. 2024), whose questions
have 4 to 7 options; and the completions of XSTest (Röttger et al. 2024), of which full refusals are
told from full compliance. Rows of which a reader was not sure are left out.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.languages import ENGLISH_WORDS, Language, language_words
from biasgrid.readers.choices import read_choice
from biasgrid.readers.menu import Menu
from biasgrid.readers.protagonists import read_protagonist
from biasgrid.readers.refusals import is_refusal
from biasgrid.readers.yes_no import read_yes_no

NONE, REFUSAL, ANSWER = "none", "refusal", "answer"
RIGHT, WRONG, LOST, TAKEN = "right", "wrong", "lost", "none, but read"
UNREADABLE = (NONE, REFUSAL, "both", "unknown")
"""Labels of answers that have no value."""
REFUSED_OPTION = "Refused"
"""An option of MCQ-Robustness; a refusal in other words is no choice here."""
NO_CHOICE = "XY"
"""Letters of its labels that stand for no option."""
Record = Mapping[str, Any]


class Judged(NamedTuple):
    """An answer with its label and its reading.

    Attributes:
        group: the file, or the model, in whose row it counts.
        words: how many words the answer has.
        label: what people read, `NONE` if nothing.
        value: what was read, `NONE` if nothing.
        can_refuse: whether refusals were labelled too.
        refuses: whether the answer is read as a refusal.
    """

    group: str
    words: int
    label: str
    value: str
    can_refuse: bool
    refuses: bool

    @property
    def outcome(self) -> str:
        """Whether the reading is right."""
        label = NONE if self.label in UNREADABLE else self.label
        if self.value == label:
            return RIGHT
        if self.value == NONE:
            return LOST
        return TAKEN if label == NONE else WRONG


def judged_rows(path: Path) -> Iterator[Judged]:
    """Yields the answers of a file whose labels are sure."""
    readers: Mapping[str, Callable[[Path], Iterator[Judged]]] = {
        ".jsonl": rows_of_lines,
        ".csv": rows_of_xstest,
        ".json": rows_of_options,
    }
    yield from readers[path.suffix](path)


def rows_of_lines(path: Path) -> Iterator[Judged]:
    """Yields the rows of JSON lines, each read by its `kind`."""
    for line in path.read_text().splitlines():
        record = json.loads(line)
        if record["sure"]:
            response, label = record["response"], record["label"]
            refuses = is_refusal(response, ENGLISH_WORDS)
            value = value_of(record, refuses)
            can_refuse = record["kind"] in ("yes-no", "refusal")
            yield Judged(path.stem, len(response.split()), label, value, can_refuse, refuses)


def value_of(record: Record, refuses: bool) -> str:
    """Returns what is read in a record, `NONE` if nothing."""
    language: Language = language_words(record.get("language", "en"))
    response, kind = record["response"], record["kind"]
    if kind == "refusal":
        return NONE if refuses else ANSWER
    if kind == "protagonist":
        return str(read_protagonist(response, language).value or NONE)
    if kind == "yes-no":
        return str(read_yes_no(response, language, record["text"]).value or NONE)
    unknown = next(
        (place for place, text in enumerate(record["shown"]) if means_unknown(text, language)), None
    )
    reading = read_choice(
        response, Menu(tuple(record["shown"]), record["letters"], (), unknown), language
    )
    return NONE if reading.value is None else str(record["options"][int(reading.value)])


def means_unknown(option: str, language: Language) -> bool:
    """Returns whether an option says that the answer is not known."""
    return any(re.search(phrase.says, option, re.IGNORECASE) for phrase in language.unknown)


def rows_of_options(path: Path) -> Iterator[Judged]:
    """Yields the answers of MCQ-Robustness, by model."""
    model = path.parts[-3]
    for line in path.read_text().splitlines():
        record = json.loads(line)["shuffle_0"]
        label = str(record["label"])
        is_option = label[1:2] == "." and label[0] not in NO_CHOICE
        if is_option and label[2:].strip() == REFUSED_OPTION:
            continue
        options = record["question"].split("Options:")[-1].rsplit("Answer:", 1)[0]
        texts = tuple(re.findall(r"^[A-J]\. ?(.*?) *$", options, re.MULTILINE))
        response = response_of(record["response"])
        reading = read_choice(response, Menu(texts, letters=True), ENGLISH_WORDS)
        value = NONE if reading.value is None else "ABCDEFGHIJ"[int(reading.value)]
        yield Judged(
            model, len(response.split()), label[0] if is_option else NONE, value, False, False
        )


def response_of(text: str) -> str:
    """Returns the answer behind a prompt, which MCQ-Robustness keeps in front of it."""
    for mark in ("[/INST]", "\nmodel\n"):
        if mark in text:
            return text.split(mark, 1)[1]
    return text


def rows_of_xstest(path: Path) -> Iterator[Judged]:
    """Yields the full refusals and the full compliances of a model in XSTest."""
    labels = {"1_full_compliance": ANSWER, "2_full_refusal": REFUSAL}
    with path.open() as file:
        for record in csv.DictReader(file):
            label, text = labels.get(record.get("final_label", "")), record.get("completion", "")
            if label:
                refuses = is_refusal(text, ENGLISH_WORDS)
                value = NONE if refuses else ANSWER
                yield Judged(path.stem, len(text.split()), label, value, True, refuses)


def refusal_figures(rows: list[Judged]) -> tuple[float | None, float | None, Counter[str]]:
    """Returns precision and recall of refusals, None where there are none, and their counts."""
    asked = [row for row in rows if row.can_refuse]
    counts = Counter(
        "found" if row.refuses else "missed" for row in asked if row.label == REFUSAL
    ) + Counter("false" for row in asked if row.refuses and row.label != REFUSAL)
    told, there = counts["found"] + counts["false"], counts["found"] + counts["missed"]
    precision = counts["found"] / told if told else None
    recall = counts["found"] / there if there else None
    return precision, recall, counts


def figures(rows: list[Judged]) -> dict[str, float | None]:
    """Returns the counts of rows, and precision and recall of refusals."""
    outcomes = Counter(row.outcome for row in rows)
    precision, recall, _ = refusal_figures(rows)
    return {
        "right": outcomes[RIGHT],
        "wrong": outcomes[WRONG] + outcomes[TAKEN],
        "lost": outcomes[LOST],
        "refusal_precision": precision,
        "refusal_recall": recall,
    }


def print_rows(title: str, rows: list[Judged]) -> None:
    """Prints a line of the table."""
    outcomes = Counter(row.outcome for row in rows)
    _, _, refusals = refusal_figures(rows)
    counts = [len(rows), *(outcomes[name] for name in (RIGHT, WRONG, TAKEN, LOST))]
    told = (
        [refusals[name] for name in ("found", "false", "missed")]
        if any(row.can_refuse for row in rows)
        else ["", "", ""]
    )
    print(f"| {title} | {' | '.join(map(str, [*counts, *told]))} |")


def main() -> None:
    """Reads the files of a folder and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="print the figures as the last line")
    chosen = parser.parse_args()
    files = sorted(
        path for path in chosen.folder.rglob("*") if path.suffix in (".jsonl", ".csv", ".json")
    )
    completions = [path for path in files if path.suffix != ".csv" or "completions" in path.stem]
    rows = [
        row for path in completions if "automated" not in str(path) for row in judged_rows(path)
    ]
    print(
        "| answers | n | right | wrong | none, but read | lost | refusals found | false | missed |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for group in dict.fromkeys(row.group for row in rows):
        print_rows(group, [row for row in rows if row.group == group])
    longer = [row for row in rows if row.words > 1]
    print_rows("one word", [row for row in rows if row.words <= 1])
    print_rows("longer", longer)
    print_rows("all", rows)
    if chosen.json:
        print(json.dumps({"all": figures(rows), "longer": figures(longer)}))


if __name__ == "__main__":
    main()
