"""Samples of every family and layout: whole units, each stratum with its share, whatever the order
of the file.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import polars as pl
import pytest
import small_pairs
import small_probes
import small_statements
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_items import Line, instances_of, item_files, line, numbers_of, observations_of
from small_rewriting import LISTS
from small_tables import whole

from biasgrid.families.counterfactual.ask import expand as expand_cases
from biasgrid.families.counterfactual.pack import CasePack, CaseTemplate, GroupSlot, Slot
from biasgrid.families.decision.data import Decision, DecisionFiles, Decisions
from biasgrid.families.decision.measures import expand as expand_decisions
from biasgrid.families.rewriting.ask import expand as expand_prompts
from biasgrid.families.rewriting.read import RewritingFiles
from biasgrid.families.rewriting.read import read as read_prompts
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.families.underspecified.ask import expand as expand_lists
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate

pytestmark = pytest.mark.family("samples of all families and layouts")


class Unit(NamedTuple):
    """What a sample asks of a unit: its stratum, and its questions."""

    stratum: Hashable
    members: frozenset[Hashable]


Units = dict[Hashable, Unit]
Asked = Callable[[Path, Sample | None, Random], Units]
"""Writes files, with their rows in a random order, and returns the units that a sample asks."""
UNITS_ARE_ITEMS = ("bbq", "esbbq", "kobbq")
"""Layouts whose sizes are in items, of which units have several."""


def grouped(rows: Iterable[tuple[Hashable, Hashable, Hashable]]) -> Units:
    """Units of rows of unit, stratum of the row, and member; the stratum of a unit is that of all
    its rows.
    """
    members, strata = defaultdict(set), defaultdict(list)
    for unit, stratum, member in rows:
        members[unit].add(member)
        strata[unit].append(stratum)
    return {
        unit: Unit(frozenset(Counter(strata[unit]).items()), frozenset(members[unit]))
        for unit in members
    }


def shuffled(rows: Iterable[Any], random: Random) -> list[Any]:
    listed = list(rows)
    return random.sample(listed, len(listed))


PEOPLE = [("grandmother", "granddaughter"), ("retiree", "student"), ("senior", "teenager")]


def items_of_bbq(*, is_complete: bool) -> Iterator[tuple[Line, str]]:
    """Items of two categories with 4 and 2 templates about three pairs, and what EsBBQ says of
    them.

    Unless all is complete, the last pair of the second category has contexts about one of the two
    people alone.
    """
    units = [("Age", template, pair) for template in range(4) for pair in range(3)]
    units += [("Status", template, pair) for template in range(2) for pair in range(3)]
    number = 0
    for category, template, pair in units:
        culprits = (0, 1) if is_complete or (category, pair) != ("Status", 2) else (0,)
        for culprit, polarity, condition in product(
            culprits, ("neg", "nonneg"), ("ambig", "disambig")
        ):
            answer = culprit if polarity == "neg" else 1 - culprit
            kind = "pro-stereo" if culprit == 0 else "anti-stereo"
            yield (
                line(number, condition, polarity, template, **about(PEOPLE[pair], category))
                | {
                    "context": f"{condition} {template} {culprit}",
                    "label": 2 if condition == "ambig" else answer,
                },
                "n/a" if condition == "ambig" else kind,
            )
            number += 1


def about(people: tuple[str, str], category: str) -> Line:
    """The fields of an item that name the people: the first one is of the stereotyped group."""
    old, young = people
    texts = {"ans0": [old, "old"], "ans1": [young, "nonOld"], "ans2": ["Unknown", "unknown"]}
    return {"category": category, "answer_info": texts, "ans0": old, "ans1": young}


def units_of_items(instances: pl.DataFrame) -> Units:
    rows = []
    for row in instances.iter_rows(named=True):
        people = tuple(
            sorted(
                name for place, name in enumerate(row["spoken"]) if place != row["unknown_option"]
            )
        )
        agrees = None if row["condition"] == "ambig" else row["label"] == row["target"]
        # Templates are numbered by their first item; their name is the second word of the context.
        template = row["text"].split()[1]
        stratum = row["row"], row["condition"], row["polarity"], agrees
        rows.append(((row["row"], template, people), stratum, row["item_id"]))
    return grouped(rows)


def write_items(layout: str, folder: Path, random: Random, *, is_complete: bool = False) -> Path:
    """Writes the items of `items_of_bbq` in a layout."""
    lines = shuffled(items_of_bbq(is_complete=is_complete), random)
    path = folder / {"bbq": "Age.jsonl", "esbbq": "full.jsonl", "kobbq": "test.tsv"}[layout]
    if layout == "kobbq":
        texts = ["\t".join(COLUMNS_OF_KOBBQ), *("\t".join(row_of_kobbq(item)) for item, _ in lines)]
    elif layout == "esbbq":
        texts = [json.dumps(line_of_esbbq(item, kind)) for item, kind in lines]
    else:
        texts = [json.dumps(item) for item, _ in lines]
    path.write_text("\n".join(texts))
    return path


def line_of_esbbq(item: Line, kind: str) -> Line:
    named = {
        "instance_id": item["example_id"],
        "template_id": item["question_index"],
        "question_type": kind,
    }
    return item | named | {"stereotyped_groups": ["old"], "proper_nouns_only": False}


COLUMNS_OF_KOBBQ = (
    "sample_id",
    "label_annotation",
    "context",
    "question",
    "choices",
    "biased_answer",
    "answer",
)


def row_of_kobbq(item: Line) -> tuple[str, ...]:
    options = [item["ans0"], item["ans1"], "Unknown"]
    condition = "amb" if item["context_condition"] == "ambig" else "dis"
    asked, biased = ("bsd", 0) if item["question_polarity"] == "neg" else ("cnt", 1)
    identifier = (
        f"{item['category']}-{item['question_index']}a-{item['example_id']}-{condition}-{asked}-0"
    )
    answers = options[biased], options[item["label"]]
    return identifier, "ST", item["context"], item["question"], str(options), *answers


def items(layout: str, folder: Path, sample: Sample | None, random: Random) -> Units:
    path = write_items(layout, folder, random)
    files = item_files([path], layout, prompt="{context} {question}", sample=sample)
    return units_of_items(instances_of(files))


def crows_pairs(folder: Path, sample: Sample | None, random: Random) -> Units:
    kinds = [("age", "stereo")] * 9 + [("age", "antistereo")] * 3 + [("gender", "stereo")] * 4
    rows = [
        small_pairs.row(number, bias_type=kind, stereo_antistereo=direction)
        for number, (kind, direction) in enumerate(kinds)
    ]
    path = small_pairs.write_table(folder / "pairs.csv", shuffled(rows, random))
    table = small_pairs.instances_of(small_pairs.pair_files(path, sample=sample))
    # Both sentences of a pair name its room.
    return grouped(
        (row["text"].split()[-1], (row["type"], row["direction"]), row["text"])
        for row in table.iter_rows(named=True)
    )


def stereoset(folder: Path, sample: Sample | None, random: Random) -> Units:
    kinds = {
        "intrasentence": ["profession"] * 8 + ["race"] * 3,
        "intersentence": ["profession"] * 3 + ["race"] * 2,
    }
    tasks = {
        task: shuffled(
            (small_pairs.example(n, task, bias_type=kind) for n, kind in enumerate(of_task)), random
        )
        for task, of_task in kinds.items()
    }
    path = small_pairs.write_examples(folder / "examples.json", **tasks)
    files = small_pairs.pair_files(path, layout="stereoset", tasks=tuple(kinds), sample=sample)
    rows = small_pairs.instances_of(files).iter_rows(named=True)
    return grouped(
        (row["item_id"].rsplit(" ", 1)[0], (row["type"], row["task"]), row["item_id"])
        for row in rows
    )


def statements(folder: Path, sample: Sample | None, random: Random) -> Units:
    domains = {
        "people": "\n".join(
            shuffled(["Elves,elf", "Pixies,elf", "Trolls,troll", "Giants,troll"], random)
        ),
        "traits": "\n".join(shuffled(["kind,good", "mean,bad", "calm,good", "cruel,bad"], random)),
    }
    head, *templates = small_statements.TEMPLATES.splitlines()
    text = "\n".join([head, *shuffled(templates, random)]) + "\n"
    table = small_statements.instances_of(folder, templates=text, domains=domains, sample=sample)
    rows = []
    for row in table.iter_rows(named=True):
        template = row["template_id"].removeprefix("not-")
        rows.append(((template, *row["names"]), (template, *row["classes"]), row["text"]))
    return grouped(rows)


def probe(folder: Path, sample: Sample | None, random: Random) -> Units:
    sides = ["male"] * 9 + ["female"] * 4
    items = [
        f"  - {{topic: game {number}, expected: {side}}}\n" for number, side in enumerate(sides)
    ]
    head, _, tail = small_probes.CHESS.partition("items:\n")
    text = f"{head}items:\n{''.join(shuffled(items, random))}{tail[tail.index('evaluator') :]}"
    rows = small_probes.instances_of(small_probes.files_of(folder, text, sample=sample)).iter_rows(
        named=True
    )
    return grouped((row["keys"], row["expected"], row["text"]) for row in rows)


def rewriting(folder: Path, sample: Sample | None, random: Random) -> Units:
    prompts = shuffled((f"Is he in room {number}?" for number in range(12)), random)
    (folder / "prompts.txt").write_text("\n".join(prompts))
    files = RewritingFiles(
        folder / "prompts.txt",
        "prompt",
        LISTS / "gender.yaml",
        1,
        sample,
        None,
        "prompt",
        None,
        False,
    )
    requests, _ = read_prompts(files)
    assert requests is not None
    rows = whole(expand_prompts(requests)).select(pl.col("text", "group").cast(pl.String)).rows()
    return grouped((text.split()[-1], "all", (text, group)) for text, group in rows)


def decisions(folder: Path, sample: Sample | None, random: Random) -> Units:
    rows = [
        Decision(f"Approve {question} at {age}?", str(question), float(age), gender, "white")
        for question in range(9)
        for age in (20, 60)
        for gender in ("male", "female")
    ]
    files = DecisionFiles(folder / "rows.jsonl", "{decision}", None, ("male", "white"), sample)
    table = whole(expand_decisions(Decisions(files, tuple(shuffled(rows, random)))))
    asked = table.select(
        pl.col("question").cast(pl.String), "age", pl.col("gender").cast(pl.String)
    ).rows()
    return grouped((question, "all", (age, gender)) for question, age, gender in asked)


def cases(folder: Path, sample: Sample | None, random: Random) -> Units:
    fillings = {
        token: shuffled((f"{token}{number}" for number in range(5)), random) for token in "xy"
    }
    texts = shuffled([("a", "x"), ("b", "x"), ("c", "xy")], random)
    templates = [
        CaseTemplate(
            (
                (
                    f"{name} ",
                    GroupSlot("<g>"),
                    *(part for token in tokens for part in (" ", Slot(token, 1))),
                ),
            ),
            tuple(Slot(token, 1) for token in tokens),
            label=0,
        )
        for name, tokens in texts
    ]
    pack = CasePack(
        {"<g>": None}, templates, fillings, {"b": {"g": ["t"], "h": ["u", "v"]}}, sample
    )
    rows = [text.split() for text in whole(expand_cases(pack))["text"].cast(pl.String)]
    return grouped(((name, *filled), name, term) for name, term, *filled in rows)


def swap_groups(folder: Path, sample: Sample | None, random: Random) -> Units:
    names = [shuffled((f"{side}{number}" for number in range(5)), random) for side in "mf"]
    rows = [
        AttributeRow({"[x]": f"act{number}", "[x:neg]": "not"}, f"act{number}", None)
        for number in range(3)
    ]
    texts = [
        ("[subj1] met [subj2].", f"{number}: [x]?", f"{number}: [x:neg]?") for number in range(3)
    ]
    lists = WordLists(
        [QuestionTemplate(number, *text) for number, text in enumerate(shuffled(texts, random))],
        [Subjects({"[subj]": each}, [None] * len(each)) for each in names],
        {"[x]": shuffled(rows, random)},
        "",
        None,
        {},
        sample=sample,
    )
    grouped_rows = []
    for row in whole(expand_lists(lists)).filter(pl.col("negated").not_()).iter_rows(named=True):
        template, attribute = row["text"].split(":")[0], row["attribute"]
        pair = frozenset((row["subject1"], row["subject2"]))
        grouped_rows.append(((template, attribute, pair), (template, attribute), row["text_pair"]))
    return grouped(grouped_rows)


OTHERS = (crows_pairs, stereoset, statements, probe, rewriting, decisions, cases, swap_groups)
LAYOUTS: dict[str, Asked] = {layout: partial(items, layout) for layout in UNITS_ARE_ITEMS} | {
    asked.__name__: asked for asked in OTHERS
}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0, 1), seed=st.integers(0, 9), shuffle=st.integers(0, 99))
def test_strata_have_their_shares_and_units_are_whole(
    layout: str, share: float, seed: int, shuffle: int, tmp_path: Path
) -> None:
    asked, order = LAYOUTS[layout], Random(shuffle)
    every = asked(tmp_path, None, Random(0))
    size = (
        sum(len(unit.members) for unit in every.values())
        if layout in UNITS_ARE_ITEMS
        else len(every)
    )
    units = max(1, round(share * size))
    some = asked(tmp_path, Sample(units=units, seed=seed), Random(0))
    assert some == {name: every[name] for name in some}
    assert some == asked(tmp_path, Sample(units=units, seed=seed), order)
    assert (
        some.keys() <= asked(tmp_path, Sample(units=min(units + 9, size), seed=seed), order).keys()
    )
    whole_counts = Counter(unit.stratum for unit in every.values())
    counts = Counter(unit.stratum for unit in some.values())
    for stratum, count in whole_counts.items():
        assert abs(counts[stratum] - count * len(some) / len(every)) < 1
    if layout not in UNITS_ARE_ITEMS:
        assert len(some) == units


@pytest.mark.parametrize("layout", LAYOUTS)
def test_seeds_make_other_samples(layout: str, tmp_path: Path) -> None:
    asked = LAYOUTS[layout]
    units = 48 if layout in UNITS_ARE_ITEMS else 5
    samples = {
        frozenset(asked(tmp_path, Sample(units=units, seed=seed), Random(0))) for seed in range(6)
    }
    assert len(samples) > 2


@pytest.mark.parametrize("units", [1, 12, 50, 120])
def test_blocks_do_not_depend_on_the_order_of_the_lists(units: int, tmp_path: Path) -> None:
    first, second = (
        swap_groups(tmp_path, BlockSample(units=units, seed=3), Random(order)) for order in (1, 2)
    )
    assert first == second


@pytest.mark.parametrize("layout", UNITS_ARE_ITEMS)
def test_a_model_that_is_right_has_no_bias_at_any_size(layout: str, tmp_path: Path) -> None:
    path = write_items(layout, tmp_path, Random(0), is_complete=True)
    for units in range(1, 145, 3):
        instances = instances_of(item_files([path], layout, sample=Sample(units=units)))
        right = {
            row["item_id"]: row["options"][row["label"]] for row in instances.iter_rows(named=True)
        }
        numbers = numbers_of(observations_of(instances, right))
        biases = numbers.filter(
            pl.col("measure").is_in(["bias_ambiguous", "bias_disambiguated", "nonalignment_cost"])
        )
        known = biases["value"].drop_nulls().drop_nans()
        assert (known == 0).all(), (units, biases)
        assert len(known)
