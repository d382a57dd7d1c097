"""Expansion of drawn word lists against plain string replacement, and their count."""

from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_cells import positions_are_right
from small_tables import whole

from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists, planned_instances
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate

pytestmark = pytest.mark.slow


def slow_expansion(lists: WordLists) -> list[tuple[object, ...]]:
    """Expands word by word, as the spec tells it (a.2 and a.4), with articles before slots
    alone.
    """
    people = [list(zip(part.forms["[subj]"], part.groups, strict=True)) for part in lists.subjects]
    pairs = list(combinations(people[0], 2)) if len(people) == 1 else list(product(*people))
    rows: list[tuple[object, ...]] = []
    for pair in pairs + [pair[::-1] for pair in pairs]:
        for number, template in enumerate(lists.templates):
            for kind, attributes in lists.attributes.items():
                if kind not in template.text and f"{kind[:-1]}:" not in template.text:
                    continue
                for attribute in attributes:
                    names = {
                        f"[subj{which}]": name for which, (name, _) in enumerate(pair, start=1)
                    }
                    # An article is the template's or the attribute's, never a name.
                    filled = template.text
                    for head, text in attribute.texts.items():
                        filled = filled.replace(head, text)
                    articles = [word in ("a", "A") for word in filled.split(" ")]
                    words = template.text.split(" ")
                    for place, word in enumerate(words):
                        for head, text in {**attribute.texts, **names}.items():
                            if (
                                place
                                and word.startswith(head)
                                and text[0] in "aeiouAEIOU"
                                and articles[place - 1]
                            ):
                                words[place - 1] += "n"
                            words[place] = words[place].replace(head, text)
                    lead = f"{lists.filler}  " if lists.filler else ""
                    context, *questions = (
                        (lead + " ".join(words)).replace("[mask]", lists.mask or "").split("\t")
                    )
                    for question in questions:
                        (name1, group1), (name2, group2) = pair
                        key = (
                            name1,
                            name2,
                            group1,
                            group2,
                            number,
                            attribute.name,
                            attribute.group,
                        )
                        rows.append((*key, context, question))
    return rows


WORD = st.sampled_from(["a", "A", "an", "apple", "Idol", "met", "b", "übel", "who,", "a."])
NAME = st.sampled_from(["a", "A", "Ann", "Bob", "an owl", "Über", "Eve", "Zoë"])
SUBJECT_GROUP = st.sampled_from([None, "x"])


@st.composite
def small_lists(draw: st.DrawFn) -> WordLists:
    def text(*slots: str) -> str:
        words = draw(st.lists(WORD, max_size=5))
        return " ".join(draw(st.permutations([*words, *slots])))

    names = draw(st.lists(NAME, min_size=3, max_size=5, unique=True))
    cut = draw(st.sampled_from([0, 1]))
    subjects = [
        Subjects({"[subj]": part}, [draw(SUBJECT_GROUP) for _ in part])
        for part in (names[:cut], names[cut:])
        if part
    ]
    acts = draw(
        st.lists(
            st.tuples(WORD, WORD, SUBJECT_GROUP),
            min_size=1,
            max_size=3,
            unique_by=lambda act: act[0],
        )
    )
    attributes = {
        "[act]": [
            AttributeRow({"[act]": yes, "[act:neg]": no}, yes, kind) for yes, no, kind in acts
        ]
    }
    mask = draw(st.sampled_from([None, "<m>"]))
    masked = ["[mask]"] if mask else []
    slot = draw(st.sampled_from([[], ["[subj1]"], ["[subj2]", "[subj1]"]]))
    templates = [
        QuestionTemplate(
            line,
            text("[subj1]", "[subj2]"),
            text("[act]", *masked, *slot),
            text("[act:neg]", *masked, *slot),
        )
        for line in range(1, draw(st.integers(2, 3)))
    ]
    return WordLists(
        templates, subjects, attributes, draw(st.sampled_from(["", "a yes --", "A"])), mask, {}
    )


@settings(max_examples=60, deadline=None)
@given(small_lists())
def test_expansion_matches_plain_string_replacement(lists: WordLists) -> None:
    instances = whole(expand(lists))
    columns = [
        *("subject1", "subject2", "group1", "group2", "template", "attribute", "attribute_group"),
        *("text_pair", "text"),
    ]
    assert instances.select(columns).rows() == slow_expansion(lists)
    assert positions_are_right(instances)


@settings(max_examples=60, deadline=None)
@given(
    small_lists(),
    st.dictionaries(st.sampled_from(["templates", "subjects", "attributes"]), st.integers(1, 3)),
    NAME,
)
def test_instances_are_counted_without_expanding(
    lists: WordLists, limit: dict[str, int], split: str
) -> None:
    lists = replace(lists, limit=limit)
    for one_token in (None, lambda words: [word != split for word in words]):
        assert planned_instances(lists, one_token).instances == len(whole(expand(lists, one_token)))
