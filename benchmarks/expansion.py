"""Expansion of the full gender dataset, and of a counterfactual one, against loops that fill
templates row by row.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from stopwatch import measure, print_table, processor_seconds_of

from biasgrid.config import parse_config, read_config
from biasgrid.families.counterfactual.ask import expand as expand_cases
from biasgrid.families.counterfactual.pack import CasePackFiles
from biasgrid.families.counterfactual.read import read as read_pack
from biasgrid.families.expansion import Expansion
from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.read import WordLists, read
from biasgrid.families.underspecified.templates import AttributeRow, template_types
from biasgrid.tables.files import write_table_in_parts

SUBJECTS_IN_LOOP = 20
TEMPLATE = ("The <group> <verb> a <food> near a <place>.", "The <group> eats near a <place:1>.")
FILLINGS = {"verb": 50, "food": 100, "place": 20}
BIASES = {"gender": 2, "religion": 3}
TERMS = 6
VERBS_IN_LOOP = 4


def gender() -> WordLists:
    config = parse_config(read_config("config/config.yaml"), "config/config.yaml")
    lists, faults = read(config.files("gender", "qa"))
    assert not faults
    return lists


def write(expansion: Expansion, path: Path) -> None:
    write_table_in_parts(expansion.parts, path, expansion.schema, {})


def columnar(repeats: int = 1) -> float:
    """Expands the gender dataset with each attribute several times, in other words."""
    lists = gender()
    if repeats > 1:
        several = {
            kind: [again(row, number) for number in range(repeats) for row in rows]
            for kind, rows in lists.attributes.items()
        }
        lists = replace(lists, attributes=several)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "instances.parquet")
        seconds = processor_seconds_of(lambda: write(expand(lists), path))
        print(f"columnar: {path.stat().st_size / 1e6:.0f} MB on disk", flush=True)
    return seconds


def again(attribute: AttributeRow, number: int) -> AttributeRow:
    texts = {head: f"{text} {number}" for head, text in attribute.texts.items()}
    return AttributeRow(texts, f"{attribute.name} {number}", attribute.group)


def loop() -> float:
    lists = gender()
    female, male = (subjects.forms["[subj]"][:SUBJECTS_IN_LOOP] for subjects in lists.subjects)
    pairs = [(one, two) for one in female for two in male]
    examples = []

    def fill() -> None:
        for one, two in pairs + [(two, one) for one, two in pairs]:
            for number, template in enumerate(lists.templates):
                for kind in template_types(template, lists.attributes):
                    for attribute in lists.attributes[kind]:
                        line = template.text.replace("[subj1]", one).replace("[subj2]", two)
                        for head, term in attribute.texts.items():
                            line = line.replace(head, term)
                        words = line.split(" ")
                        for place in range(1, len(words)):
                            if words[place][:1].lower() in set("aeiou") and words[place - 1] in (
                                "a",
                                "A",
                            ):
                                words[place - 1] += "n"
                        context, question, negated = " ".join(words).split("\t")
                        key = "|".join((one, two, str(number), attribute.name))
                        examples.append(
                            {"key": key, "context": context, "questions": (question, negated)}
                        )

    return processor_seconds_of(fill)


def words() -> tuple[dict[str, list[str]], dict[str, dict[str, list[str]]]]:
    fillings = {
        token: [f"{token} {number}" for number in range(count)] for token, count in FILLINGS.items()
    }
    biases = {
        kind: {
            f"{kind}{group}": [f"{kind} {group} {term}" for term in range(TERMS)]
            for group in range(groups)
        }
        for kind, groups in BIASES.items()
    }
    return fillings, biases


def columnar_cases() -> float:
    fillings, biases = words()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fillings").mkdir()
        for token, texts in fillings.items():
            (folder / "fillings" / token).write_text("\n".join(texts))
        template = {"premise": TEMPLATE[0], "hypothesis": TEMPLATE[1], "label": 0}
        header = {
            "group_token": "<group>",
            "input_names": ["premise", "hypothesis"],
            "label_name": "label",
        }
        (folder / "templates.json").write_text(json.dumps({**header, "templates": [template]}))
        (folder / "biases.json").write_text(json.dumps(biases))
        files = CasePackFiles(
            folder / "templates.json", folder / "fillings", folder / "biases.json"
        )
        path = folder / "cases.parquet"
        seconds = processor_seconds_of(lambda: write(expand_cases(read_pack(files)[0]), path))
        print(f"columnar: {path.stat().st_size / 1e6:.0f} MB on disk", flush=True)
    return seconds


def loop_cases() -> float:
    fillings, biases = words()
    fillings["verb"] = fillings["verb"][:VERBS_IN_LOOP]
    rows = []

    def fill() -> None:
        for case, choice in enumerate(product(*fillings.values())):
            texts = list(TEMPLATE)
            for token, text in zip(fillings, choice, strict=True):
                texts = [
                    one.replace(f"<{token}>", text).replace(f"<{token}:1>", text) for one in texts
                ]
            for kind, groups in biases.items():
                for group, terms in groups.items():
                    for term in terms:
                        premise, hypothesis = (one.replace("<group>", term) for one in texts)
                        row = {
                            "case": case,
                            "bias_type": kind,
                            "group": group,
                            "term": term,
                            "label": 0,
                        }
                        rows.append({**row, "text": premise, "text_pair": hypothesis})

    return processor_seconds_of(fill)


def compare(what: str, ways: Mapping[str, tuple[Callable[[], float], int]]) -> None:
    table = []
    rates = {}
    for name, (work, rows) in ways.items():
        seconds, megabytes = measure(work)
        rates[name] = rows / seconds
        table.append(
            [name, f"{rows:,}", f"{seconds:.2f}", f"{rates[name]:,.0f}", f"{megabytes:,.0f}"]
        )
    for line in table:
        line.append(f"{rates[line[0]] / rates['loop']:.1f}")
    print_table(["way", what, "seconds", f"{what}/s", "peak MB", "ratio"], table)


def main() -> None:
    per_pair = 2 * 4 * 70 * 2
    questions: dict[str, tuple[Callable[[], float], int]] = {
        "columnar": (columnar, 70 * 70 * per_pair),
        "columnar, ten times the attributes": (partial(columnar, 10), 10 * 70 * 70 * per_pair),
        "loop": (loop, SUBJECTS_IN_LOOP**2 * per_pair),
    }
    compare("questions", questions)
    per_verb = FILLINGS["food"] * FILLINGS["place"] * TERMS * sum(BIASES.values())
    ways = {
        "columnar": (columnar_cases, FILLINGS["verb"] * per_verb),
        "loop": (loop_cases, VERBS_IN_LOOP * per_verb),
    }
    compare("instances", ways)


if __name__ == "__main__":
    main()
