"""Samples of datasets: whole units, the same for one seed, and nested."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from project import ROOT
from small_statements import TEMPLATES, instances_of
from small_tables import whole

from biasgrid.base.faults import InputError
from biasgrid.base.references import load, stage_module
from biasgrid.config import Config, load_word_lists, parse_config, read_config
from biasgrid.families.counterfactual.ask import cases_of_sample
from biasgrid.families.counterfactual.pack import CasePack, GroupSlot, Slot
from biasgrid.families.counterfactual.pack import CaseTemplate as PackTemplate
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.families.statement.pack import StatementFiles
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate
from biasgrid.runs.counts import sample_notes
from biasgrid.tables.keys import request_keys

pytestmark = pytest.mark.family("samples are balanced over the designs of three families")

UNITS = {"religion": "swap_group", "sentiment": "case"}
MODELS = {"religion": ["none-qa", "none-lm"], "sentiment": ["none-sentiment"]}


def lists_of(
    first: int, second: int, templates: int, attributes: tuple[int, ...], sample: Sample | None
) -> WordLists:
    """Word lists of some sizes; templates ask for one type of attributes after the other."""
    names = [
        [f"{side}{number}" for number in range(count)]
        for side, count in (("a", first), ("b", second))
        if count
    ]
    types = {
        f"[t{kind}]": [
            AttributeRow(
                {f"[t{kind}]": f"{kind}-{number}", f"[t{kind}:neg]": f"not {kind}-{number}"},
                f"{kind}-{number}",
                None,
            )
            for number in range(count)
        ]
        for kind, count in enumerate(attributes)
    }
    kinds = [f"t{number % len(types)}" for number in range(templates)]
    texts = [
        ("[subj1] met [subj2].", f"{number}: [{kind}]?", f"[{kind}:neg]?")
        for number, kind in enumerate(kinds)
    ]
    return WordLists(
        [QuestionTemplate(number, *text) for number, text in enumerate(texts)],
        [Subjects({"[subj]": each}, [None] * len(each)) for each in names],
        types,
        "",
        None,
        {},
        sample=sample,
    )


def groups_of(lists: WordLists) -> pl.DataFrame:
    """The swap groups that lists ask, a row each."""
    instances = whole(stage_of("underspecified", "expand").expand(lists))
    assert instances.group_by("swap_group").len()["len"].unique().to_list() == [4]
    first = instances.filter(~pl.col("swapped"), ~pl.col("negated"))
    names = ["subject1", "subject2", "attribute"]
    return first.select("swap_group", "template", pl.col(names).cast(pl.String))


def stage_of(family: str, name: str) -> Any:
    return load(stage_module(f"biasgrid.families.{family}", name))


def errors(every: pl.DataFrame, some: pl.DataFrame, *columns: str) -> float:
    """How far something in columns, in either of several, is from its share of a sample, at
    most.
    """
    counts = [
        Counter(label for column in columns for label in each[column]) for each in (every, some)
    ]
    assert set(counts[1]) <= set(counts[0])
    return max(
        abs(counts[1][label] - count * len(some) / len(every)) for label, count in counts[0].items()
    )


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 8),
    st.integers(0, 5),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 900),
    st.integers(0, 5),
)
def test_swap_groups_are_balanced_over_templates_and_attributes(
    first: int, second: int, templates: int, attributes: int, units: int, seed: int
) -> None:
    sizes = first, second, templates, (attributes, 3)
    every = groups_of(lists_of(*sizes, None))
    samples = [
        groups_of(lists_of(*sizes, Sample(units=size, seed=seed))) for size in (units, units + 7)
    ]
    assert [len(each) for each in samples] == [min(size, len(every)) for size in (units, units + 7)]
    assert set(samples[0].rows()) <= set(samples[1].rows()) <= set(every.rows())
    for some in samples:
        assert errors(every, some, "template") < 1
        assert errors(*(with_cells(each) for each in (every, some)), "cell") < 1


def with_cells(groups: pl.DataFrame) -> pl.DataFrame:
    """Adds the template with its attribute."""
    return groups.with_columns(cell=pl.concat_str("template", "attribute", separator=" "))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(0, 9), st.integers(1, 900), st.integers(0, 5))
def test_subjects_are_asked_equally_often_in_each_cell(
    first: int, second: int, units: int, seed: int
) -> None:
    every, some = (
        groups_of(lists_of(first, second, 3, (4,), each))
        for each in (None, Sample(units=units, seed=seed))
    )
    sides = [["subject1"], ["subject2"]] if second else [["subject1", "subject2"]]
    for columns in sides:
        names = {name for column in columns for name in every[column]}
        for _, cell in some.group_by("template", "attribute"):
            counts = Counter(name for column in columns for name in cell[column])
            assert max(counts.values()) - min(counts[name] for name in names) <= 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=3, max_size=3), st.integers(1, 200), st.integers(0, 5))
def test_cases_are_balanced_over_templates(counts: list[int], units: int, seed: int) -> None:
    fillings = {
        token: [f"{token}{number}" for number in range(count)]
        for token, count in zip("xyz", counts, strict=True)
    }
    tokens = ["", "x", "xy", "xy", "xyz", "xyz", "xyz"]
    templates = [
        PackTemplate(
            ((f"{number} ", GroupSlot("<g>")),), tuple(Slot(token, 1) for token in each), label=0
        )
        for number, each in enumerate(tokens)
    ]
    pack = CasePack({"<g>": None}, templates, fillings, {"b": {"g": ["t"]}})
    smaller, larger = (
        cases_of_sample(pack, Sample(units=size, seed=seed)) for size in (units, units + 3)
    )
    assert smaller.sum() == min(units, pack.cases)
    assert not (smaller & ~larger).any()
    of_each = [smaller[block.first_case : block.first_case + block.cases] for block in pack.blocks]
    for each in of_each:
        assert abs(each.sum() - len(each) * smaller.sum() / pack.cases) < 1


def statements_of(pack: str, sample: Sample | None) -> pl.DataFrame:
    """The statements of a pack that comes with the project, a row for each value that fills one."""
    folder = ROOT / "word_lists/statements"
    files = StatementFiles(
        folder / f"{pack}.csv", folder / "domains", None, 1, sample, None, "{statement}"
    )
    instances = whole(
        stage_of("statement", "expand").expand(stage_of("statement", "reading").read(files)[0])
    )
    return instances.filter(~pl.col("negated"))


@pytest.mark.parametrize("pack", ["gender", "race", "religion", "disability"])
def test_statements_are_balanced_over_templates_and_classes(pack: str) -> None:
    every = with_classes(statements_of(pack, None))
    smaller: set[int] = set()
    for units in sorted({30, len(every) // 3, 500, len(every) * 3 // 4}):
        some = with_classes(statements_of(pack, Sample(units=units, seed=2)))
        assert len(some) == units
        assert smaller <= set(request_keys(some))
        smaller = set(request_keys(some))
        assert errors(every, some, "template") < 1
        assert errors(every, some, "cell") < 1


def with_classes(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the template with the classes of its values."""
    classes = pl.col("classes").cast(pl.List(pl.String)).list.join(" ")
    return rows.with_columns(cell=pl.concat_str("template", classes, separator=" "))


def test_a_share_is_a_number_of_units() -> None:
    assert [Sample(share=share).count(30) for share in (0.001, 0.1, 0.5, 1)] == [1, 3, 15, 30]
    assert Sample(units=7).count(5) == 5
    assert Sample(share=0.3).count(0) == 0


@pytest.mark.parametrize("keys", [{}, {"units": 3, "share": 0.1}])
def test_a_sample_has_units_or_a_share(keys: dict[str, float]) -> None:
    with pytest.raises(
        InputError, match=r"datasets.religion.*sample: has .*; expected either `units` or `share`"
    ):
        demo("religion", keys)


@pytest.mark.parametrize(("dataset", "name"), [("religion", "swap groups"), ("sentiment", "cases")])
def test_a_sample_is_not_larger_than_the_design(dataset: str, name: str) -> None:
    config = demo(dataset, {"units": 10**6})
    message = (
        rf"datasets.{dataset}.sample.units: 1,000,000 units, but there are only \d+ {name}; "
        r"expected at most \d+, or"
    )
    with pytest.raises(InputError, match=message):
        load_word_lists(config)
    for sample in ("all", {"share": 1}, {"share": 1.0}):
        assert load_word_lists(demo(dataset, sample)) == load_word_lists(demo(dataset, None))


def demo(dataset: str, sample: Any, **keys: Any) -> Config:
    """The demo's config with one dataset and its models: reading the word lists of all takes
    long.
    """
    content = read_config(ROOT / "config/demo-full.yaml")
    content["word_lists"] = str(ROOT / "word_lists")
    content["run"] = {"models": MODELS[dataset], "datasets": [dataset]}
    if sample is not None:
        content["datasets"][dataset] |= {"sample": sample, **keys}
    return parse_config(content, "demo-full.yaml")


def expanded(config: Config, dataset: str) -> pl.DataFrame:
    key = next(key for key in config.needed_variants if key[0] == dataset)
    family = config.family_reference(dataset)
    lists = load_word_lists(config)[key]
    instances = whole(load(stage_module(family, "expand")).expand(lists))
    assert load(stage_module(family, "reading")).planned_instances(lists).instances == len(
        instances
    )
    return instances


def statements(**keys: Any) -> Config:
    """A config of a generative model and the statements about race, 3,744 with their negations."""
    content = read_config(ROOT / "config/llm.yaml")
    content |= {
        "word_lists": str(ROOT / "word_lists"),
        "run": {"models": ["gpt2"], "datasets": ["race-statements"]},
    }
    section = content["datasets"]["race-statements"]
    plain = {name: value for name, value in section.items() if name not in ("sample", "prompts")}
    content["datasets"]["race-statements"] = plain | keys
    return parse_config(content, "llm.yaml")


def test_samples_of_statements_are_not_too_large_and_not_forgotten() -> None:
    load_word_lists(statements())
    message = (
        r"race-statements.sample.units: 4,000 units, but there are only 3,744 statements with "
        r"their negations"
    )
    with pytest.raises(InputError, match=message):
        load_word_lists(statements(sample={"units": 4000}))
    with pytest.raises(
        InputError,
        match=r"race-statements.sample: none, although the .* models 104,832 instances; expected",
    ):
        load_word_lists(statements(repetitions=14))
    (lists,) = load_word_lists(statements(repetitions=14, sample="all")).values()
    assert lists.files.sample is None  # type: ignore[attr-defined]


def test_statements_of_one_text_count_once_for_a_sample(tmp_path: Path) -> None:
    templates = TEMPLATES.replace("#1 are calmer than #2.", "#1 are #2.").replace(
        "#1 are not calmer", "#1 are not"
    )
    twice = {"people": "Elves,elf\nkind,elf\n", "traits": "kind,good\nmean,bad\n"}
    some = instances_of(tmp_path, templates=templates, domains=twice, sample=Sample(units=5))
    assert some["pair"].n_unique() == 5
    with pytest.raises(
        InputError, match=r"6 units, but there are only 5 statements with different texts"
    ):
        instances_of(tmp_path, templates=templates, domains=twice, sample=Sample(units=6))


@pytest.mark.parametrize(("dataset", "unit"), UNITS.items())
def test_units_are_asked_whole_and_as_without_a_sample(dataset: str, unit: str) -> None:
    every = expanded(demo(dataset, None), dataset)
    some = expanded(demo(dataset, {"units": 9, "seed": 4}, sample_by="rows"), dataset)
    assert some[unit].n_unique() == 9
    assert some["instance"].to_list() == list(range(len(some)))
    same = every.filter(request_keys(every).is_in(request_keys(some).implode()))
    left_out = ["instance", "swapped_case"] if unit == "case" else ["instance"]
    assert some.drop(left_out).equals(same.drop(left_out))
    assert len(every.filter(pl.col(unit).is_in(some[unit].implode()))) == len(some)


@pytest.mark.parametrize("dataset", UNITS)
def test_a_sample_decides_the_digest_of_the_lists(dataset: str) -> None:
    found = [
        load_word_lists(demo(dataset, sample))
        for sample in (None, {"units": 9}, {"units": 9, "seed": 2}, {"units": 8})
    ]
    digests = [
        next(lists.digest() for (name, _), lists in each.items() if name == dataset)
        for each in found
    ]
    assert len(set(digests)) == 4
    files = next(iter(load_word_lists(demo(dataset, {"units": 9})).values()))
    assert replace(files, sample=None).digest()  # type: ignore[type-var]


# Samples of blocks


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 9),
    st.integers(0, 9),
    st.integers(1, 4),
    st.integers(1, 9),
    st.integers(1, 900),
    st.integers(0, 5),
)
def test_blocks_are_pairs_and_attributes_with_all_their_templates(
    first: int, second: int, templates: int, attributes: int, units: int, seed: int
) -> None:
    sizes = first, second, templates, (attributes,)
    every = groups_of(lists_of(*sizes, None))
    smaller, larger = (
        groups_of(lists_of(*sizes, BlockSample(units=size, seed=seed)))
        for size in (units, units + 7)
    )
    assert set(smaller.rows()) <= set(larger.rows()) <= set(every.rows())
    block = ["subject1", "subject2", "attribute"]
    assert smaller.group_by(block).len()["len"].unique().to_list() == [templates]
    # There is one block at least; else the sample is less than a block short of what is asked for.
    assert len(smaller) == max(min(units, len(every)) // templates, 1) * templates


def test_subjects_and_attributes_grow_together_once_groups_have_some_names() -> None:
    def asked(units: int) -> tuple[int, int, int]:
        some = groups_of(lists_of(20, 20, 5, (20,), BlockSample(units=units)))
        return tuple(some[name].n_unique() for name in ("subject1", "subject2", "attribute"))  # type: ignore[return-value]

    assert asked(4 * 4 * 5) == (4, 4, 1)
    assert asked(8 * 8 * 5 * 5) in {(8, 8, 5), (8, 8, 6)}
    assert asked(20**3 * 5) == (20, 20, 20)


def test_templates_of_several_attributes_are_asked_whole() -> None:
    every, some = (
        groups_of(lists_of(9, 0, 5, (3, 5), each)) for each in (None, BlockSample(units=60))
    )
    counts = [
        dict(frame.group_by("attribute").agg(pl.col("template").n_unique()).iter_rows())
        for frame in (every, some)
    ]
    assert {name: counts[0][name] for name in counts[1]} == counts[1]
    assert 57 < len(some) <= 60


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(0, 5))
def test_a_sample_of_cases_has_some_of_each_template(units: int, seed: int) -> None:
    fillings = {token: [f"{token}{number}" for number in range(4)] for token in "xy"}
    tokens = ["", "", "x", "xy"]
    templates = [
        PackTemplate(
            ((f"{number} ", GroupSlot("<g>")),),
            tuple(Slot(token, 1) for token in each),
            label=number % 2,
        )
        for number, each in enumerate(tokens)
    ]
    pack = CasePack({"<g>": None}, templates, fillings, {"b": {"g": ["t"]}})
    smaller, larger = (
        cases_of_sample(pack, BlockSample(units=size, seed=seed)) for size in (units, units + 3)
    )
    assert not (smaller & ~larger).any()
    assert smaller.sum() == min(max(units, len(templates)), pack.cases)
    assert all(
        smaller[block.first_case : block.first_case + block.cases].any() for block in pack.blocks
    )


@pytest.mark.parametrize("pack", ["gender", "disability"])
def test_a_sample_of_statements_has_some_of_each_template(pack: str) -> None:
    every, smaller, larger = (
        statements_of(pack, sample)
        for sample in (None, *(BlockSample(units=units, seed=2) for units in (60, 200)))
    )
    assert set(smaller["template"]) == set(larger["template"]) == set(every["template"])
    assert len(smaller) == max(60, every["template"].n_unique())
    assert set(request_keys(smaller)) <= set(request_keys(larger))


@pytest.mark.parametrize("dataset", UNITS)
def test_blocks_are_what_a_config_samples(dataset: str) -> None:
    blocks, chosen, rows = (
        expanded(demo(dataset, {"units": 40}, **keys), dataset)
        for keys in ({}, {"sample_by": "blocks"}, {"sample_by": "rows"})
    )
    assert blocks.equals(chosen)
    assert blocks["template"].n_unique() >= rows["template"].n_unique()
    assert not blocks.equals(rows)


def test_samples_of_rows_and_of_blocks_have_other_digests() -> None:
    lists = [
        next(iter(load_word_lists(demo("religion", {"units": 9, "seed": 4}, **keys)).values()))
        for keys in ({"sample_by": "rows"}, {})
    ]
    rows, blocks = (each.digest() for each in lists)  # type: ignore[attr-defined]
    assert rows != blocks


def told_of(config: Config) -> list[str]:
    return list(sample_notes(config, load_word_lists(config)))


def test_a_sample_says_what_it_can_test() -> None:
    assert told_of(demo("religion", "all")) == []
    blocks, of_masked = told_of(demo("religion", {"units": 40}))
    assert blocks == "religion (qa), sample of 40 swap groups: 8 of 8 associations with 4 clusters"
    assert of_masked.startswith("religion (lm-synthetic), sample of 40 swap groups")
    # Of a fifth of all, by rows, hardly any association has all of its clusters.
    rows, _ = told_of(demo("religion", {"units": 15}, sample_by="rows"))
    whole = int(rows.split(": ")[1].split(" of ")[0])
    assert (
        rows
        == f"religion (qa), sample of 15 swap groups: {whole} of 12 associations with 4 clusters"
    )
    assert whole < 6


def test_samples_of_cases_and_statements_say_which_clusters_they_have() -> None:
    (cases,) = told_of(demo("sentiment", {"units": 5}))
    assert cases == (
        "sentiment (cases), sample of 26 cases: 26 of 26 clusters of templates, 2 of "
        "2 right classes"
    )
    (fewer,) = told_of(demo("sentiment", {"units": 5}, sample_by="rows"))
    assert fewer.startswith("sentiment (cases), sample of 5 cases: 5 of 26 clusters of templates")
    (said,) = told_of(statements(sample={"units": 30}))
    assert (
        said
        == "race-statements (statements), sample of 30 statements: 11 of 11 clusters of templates"
    )
