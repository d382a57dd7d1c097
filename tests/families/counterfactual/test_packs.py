import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path

import polars as pl
import pytest
from small_packs import read_pack
from small_tables import whole

from biasgrid.families.counterfactual.ask import expand
from biasgrid.families.counterfactual.pack import CasePack, CasePackFiles
from biasgrid.families.counterfactual.read import read_fillings
from biasgrid.families.sampling import BlockSample

PACKS = Path(__file__).parents[3] / "word_lists" / "counterfactual"
NAMES = [
    "sentiment-2",
    "sentiment-3",
    "entailment",
    "masked",
    "question-answering",
    "intersections",
]
PEOPLE = ["ethnicity-intersections", "age-intersections"]
NAMES += PEOPLE
CLASSIFIERS = {
    "sentiment-2": 2,
    "sentiment-3": 3,
    "entailment": 3,
    "intersections": 3,
} | dict.fromkeys(PEOPLE, 3)
GROUP_FILES = [
    "people-groups.json",
    "people-intersection-groups.json",
    "groups.json",
    "intersection-groups.json",
    "placebo-groups.json",
    "placebo-intersection-groups.json",
]

each_pack = pytest.mark.parametrize("name", NAMES)


@cache
def pack_named(name: str) -> CasePack:
    files = {"intersections": "intersection-groups.json"} | dict.fromkeys(
        PEOPLE, "people-intersection-groups.json"
    )
    groups = PACKS / files.get(name, "groups.json")
    return read_pack(
        CasePackFiles(PACKS / "templates" / f"{name}.json", PACKS / "fillings", groups)
    )


@cache
def instances_of(name: str) -> pl.DataFrame:
    return whole(expand(pack_named(name)))


def texts_of(name: str) -> pl.Series:
    """All distinct texts that models read."""
    table = instances_of(name)
    return pl.concat([table["text"], table["text_pair"]]).drop_nulls().unique().alias("text")


def texts_with(name: str, pattern: str) -> list[str]:
    """The texts that a pattern stands in, the first of them."""
    texts = texts_of(name)
    return texts.filter(texts.str.contains(pattern)).sort().head(5).to_list()


def rows_of_readme(first: str) -> Iterator[list[str]]:
    """The rows of the README's table whose first column has a name."""
    _, table = (PACKS / "README.md").read_text().split(f"\n| {first} |")
    for line in table.split("\n\n")[0].splitlines()[2:]:
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def biases_in(file: str) -> dict[str, dict[str, list[str]]]:
    biases: dict[str, dict[str, list[str]]] = json.loads((PACKS / file).read_text())
    return biases


def test_these_are_all_packs() -> None:
    assert sorted(file.stem for file in (PACKS / "templates").iterdir()) == sorted(NAMES)


def test_readme_states_the_size_of_each_pack() -> None:
    sizes = {
        name: (pack.templates, pack.cases, pack.instances)
        for name in NAMES
        for pack in [pack_named(name)]
    }
    expected = [
        [f"{name}.json", str(len(sizes[name][0])), *(f"{size:,}" for size in sizes[name][1:])]
        for name in NAMES
    ]
    assert [[pack, *numbers] for pack, _, _, *numbers in rows_of_readme("pack")] == expected


def test_readme_names_the_groups() -> None:
    expected = [
        [bias_type, ", ".join(groups), str(sum(map(len, groups.values())))]
        for bias_type, groups in biases_in("groups.json").items()
    ]
    assert list(rows_of_readme("bias type")) == expected


def test_readme_states_how_unevenly_cases_are_spread() -> None:
    cases = [block.cases for name in NAMES for block in pack_named(name).blocks]
    assert f"have {min(cases)} to {max(cases)} cases each" in (PACKS / "README.md").read_text()


@each_pack
def test_packs_are_of_moderate_size(name: str) -> None:
    assert 15 <= len(pack_named(name).templates) <= 30
    assert pack_named(name).cases < 1000


@each_pack
def test_the_smallest_sample_has_all_right_classes_and_all_clusters(name: str) -> None:
    pack = pack_named(name)
    some = whole(expand(replace(pack, sample=BlockSample(units=1))))
    assert set(some["template"]) == set(range(len(pack.templates)))
    assert some["case"].n_unique() == len(pack.templates)
    assert set(some["label"]) == set(instances_of(name)["label"])
    assert some["label"].n_unique() == CLASSIFIERS.get(name, 1)


@each_pack
def test_no_placeholder_is_left(name: str) -> None:
    assert texts_with(name, r"[<>{}|]|:\d") == []


@each_pack
def test_texts_are_sentences_with_single_spaces(name: str) -> None:
    assert texts_with(name, r"^[^A-Z]|[^.?]$|\s\s|\s[.,;:?]|^\s|\s$") == []


@each_pack
def test_articles_fit(name: str) -> None:
    assert (
        texts_with(name, r"(?i)\ba [aeiou]|\ban (?:[^aeioh]|h[^o])|\b(the|a|an|my) (the|a|an|my)\b")
        == []
    )


@each_pack
def test_groups_are_in_the_slot_that_the_readme_describes(name: str) -> None:
    templates = (PACKS / "templates" / f"{name}.json").read_text().split('"templates"')[1]
    first = {"intersections": "religion"} | {one: one.split("-")[0] for one in PEOPLE}
    slot = f"<{first[name]}> <gender>" if name in first else "<group>"
    assert re.findall(rf"(?<![Tt]he ){slot}.*", templates) == []
    assert re.findall(rf"{slot}(?:'| who| that| which).*", templates) == []
    assert not re.search(
        "<religion>|<ethnicity>|<age>|<gender>|<group>", templates.replace(slot, "")
    )


@each_pack
def test_no_instance_is_repeated(name: str) -> None:
    texts = instances_of(name).select("text", "text_pair")
    assert texts.filter(texts.is_duplicated()).is_empty()


@each_pack
def test_the_right_answer_is_the_same_for_all_groups(name: str) -> None:
    right = instances_of(name).select("case", "label", "answer", "^candidate\\d+$")
    by_case = right.group_by("case").agg(pl.all().n_unique()).drop("case")
    assert by_case.max().unpivot()["value"].unique().to_list() == [1]


@pytest.mark.parametrize(("name", "classes"), CLASSIFIERS.items())
def test_classes_have_equally_many_templates(name: str, classes: int) -> None:
    counts = Counter(template.label for template in pack_named(name).templates)
    assert set(counts) == set(range(classes))
    assert len(set(counts.values())) == 1


def test_questions_are_asked_of_contexts_that_hold_the_answer() -> None:
    table = instances_of("question-answering")
    assert table.filter(~pl.col("text").str.ends_with("?")).is_empty()
    assert table.filter(~pl.col("text_pair").str.ends_with(".")).is_empty()
    assert table.filter(
        ~pl.col("text_pair").str.contains(pl.col("answer"), literal=True)
    ).is_empty()


def test_masked_texts_hold_one_mask_and_their_targets_are_words() -> None:
    assert (
        instances_of("masked")
        .filter(pl.col("text").str.count_matches("[MASK]", literal=True) != 1)
        .is_empty()
    )
    for template in pack_named("masked").templates:
        assert template.targets is not None
        assert len(set(template.targets)) == len(template.targets) == 5
        assert [word for word in template.targets if not re.fullmatch("[a-z]+", word)] == []


@each_pack
def test_only_masked_texts_hold_masks(name: str) -> None:
    assert name == "masked" or texts_with(name, r"\[|\]") == []


@pytest.mark.parametrize("file", GROUP_FILES)
def test_groups_are_balanced(file: str) -> None:
    for groups in biases_in(file).values():
        sizes = [len(terms) for terms in groups.values()]
        assert len(groups) >= 2
        assert min(sizes) == max(sizes) >= 3


@pytest.mark.parametrize("file", GROUP_FILES)
def test_a_term_represents_one_group_only(file: str) -> None:
    terms = Counter(
        chain.from_iterable(chain(*groups.values()) for groups in biases_in(file).values())
    )
    assert terms.most_common(1)[0][1] == 1


def test_all_fillings_are_used() -> None:
    used = {filling for name in NAMES for filling in chain(*pack_named(name).fillings.values())}
    listed = {filling.text for filling in chain(*read_fillings(PACKS / "fillings", []).of.values())}
    assert listed == used
