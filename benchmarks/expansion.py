"""Expansion of the full gender dataset against a loop that fills templates row by row."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stopwatch import measure, print_table, seconds_of

from biasgrid.config import parse_config, read_config
from biasgrid.families.underspecified.expansion import expand
from biasgrid.families.underspecified.reading import read_word_lists
from biasgrid.families.underspecified.word_lists import WordLists, types_of
from biasgrid.tables import INSTANCES, write_table

SUBJECTS_IN_LOOP = 20


def gender() -> WordLists:
    config = parse_config(read_config("config/config.yaml"), "config/config.yaml")
    lists, faults = read_word_lists(config.files("gender", "qa"))
    assert not faults
    return lists


def columnar() -> float:
    lists = gender()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "instances.parquet")
        seconds = seconds_of(lambda: write_table(expand(lists)[0], path, INSTANCES, {}))
        print(f"columnar: {path.stat().st_size / 1e6:.0f} MB on disk", flush=True)
    return seconds


def loop() -> float:
    lists = gender()
    female, male = (subjects.forms["[subj]"][:SUBJECTS_IN_LOOP] for subjects in lists.subjects)
    pairs = [(one, two) for one in female for two in male]
    examples = []

    def fill() -> None:
        for one, two in pairs + [(two, one) for one, two in pairs]:
            for number, template in enumerate(lists.templates):
                for kind in types_of(template, lists.attributes):
                    for attribute in lists.attributes[kind]:
                        line = template.text.replace("[subj1]", one).replace("[subj2]", two)
                        for head, term in attribute.texts.items():
                            line = line.replace(head, term)
                        words = line.split(" ")
                        for place in range(1, len(words)):
                            if words[place][:1].lower() in set("aeiou") and words[place - 1] in ("a", "A"):
                                words[place - 1] += "n"
                        context, question, negated = " ".join(words).split("\t")
                        key = "|".join((one, two, str(number), attribute.name))
                        examples.append({"key": key, "context": context, "questions": (question, negated)})

    return seconds_of(fill)


def main() -> None:
    rows = {"columnar": 70 * 70 * 2 * 4 * 70 * 2, "loop": SUBJECTS_IN_LOOP**2 * 2 * 4 * 70 * 2}
    rates = {}
    table = []
    for name, work in (("columnar", columnar), ("loop", loop)):
        seconds, megabytes = measure(work)
        rates[name] = rows[name] / seconds
        table.append([name, f"{rows[name]:,}", f"{seconds:.2f}", f"{rates[name]:,.0f}", f"{megabytes:,.0f}"])
    for line in table:
        line.append(f"{rates[line[0]] / rates['loop']:.1f}")
    print_table(["way", "questions", "seconds", "questions/s", "peak MB", "ratio"], table)


if __name__ == "__main__":
    main()
