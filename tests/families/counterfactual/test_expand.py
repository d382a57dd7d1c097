import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from small_packs import BIASES, make_pack, pack_of, targets_of
from small_tables import whole

from biasgrid.base.faults import InputError
from biasgrid.families.counterfactual.ask import expand, expand_cases, schema_of_pack
from biasgrid.tables.files import validate_table
from biasgrid.tables.keys import request_keys


def test_rows_are_by_case_bias_type_group_and_term(tmp_path: Path) -> None:
    fillings = {"x": "b\na", "y": "2\n1"}
    pack = make_pack(
        tmp_path, pack_of({"text": "<y><x> <group>"}, {"text": "the <group>", "label": 0}), fillings
    )
    cases = whole(expand(pack))
    terms = ["man", "boy", "woman", "kid", "elder"]
    assert cases["text"].to_list() == [
        *(f"{y}{x} {term}" for y in "21" for x in "ba" for term in terms),
        *(f"the {term}" for term in terms),
    ]
    assert cases["instance"].to_list() == list(range(25))
    assert cases["case"].to_list() == [case for case in range(5) for _ in terms]
    assert cases["template"].to_list() == [0] * 20 + [1] * 5
    assert cases["label"].to_list() == [1] * 20 + [0] * 5
    one = cases.select("bias_type", "group", "term").head(5).rows()
    assert one == [
        (kind, group, term)
        for kind in BIASES
        for group in BIASES[kind]
        for term in BIASES[kind][group]
    ]
    assert cases.select(pl.col("text_pair", "answer").null_count()).row(0) == (25, 25)
    assert "candidate1" not in cases.columns


def test_an_answer_shares_fillings_and_terms_with_question_and_context(tmp_path: Path) -> None:
    template = {
        "context": "The <group> <verb> a <thing>.",
        "question": "What did the <group> <verb:1>?",
        "answer": "a <thing:1> of the <group>",
    }
    header = {"input_names": ["question", "context"], "label_name": "answer"}
    content = pack_of(template, **header)
    del content["templates"][0]["label"]
    cases = whole(expand(make_pack(tmp_path, content, {"verb": "saw\nbuy", "thing": "bed"})))
    assert cases.filter(pl.col("term") == "kid").select("text", "text_pair", "answer").rows() == [
        (f"What did the kid {verb}?", f"The kid {verb} a bed.", "a bed of the kid")
        for verb in ("saw", "buy")
    ]


def test_targets_stay_as_they_are(tmp_path: Path) -> None:
    template = {"text": "The <group> <x> [MASK].", "label": ["<x:1>", "<group>", "kind"]}
    cases = whole(expand(make_pack(tmp_path, pack_of(template), {"x": "is"})))
    assert [targets_of(row) for row in cases.iter_rows(named=True)] == [
        ["<x:1>", "<group>", "kind"]
    ] * 5
    assert cases["text"][0] == "The man is [MASK]."


def test_a_filling_may_hold_group_tokens(tmp_path: Path) -> None:
    fillings = {"who": "friend of a <group>\nfriend\n<group:1>"}
    biases = {"gender": {"male": ["m$1"], "female": ["w"]}}
    cases = whole(
        expand(
            make_pack(
                tmp_path, pack_of({"text": "A <who>"}, {"text": "<group>: <who>"}), fillings, biases
            )
        )
    )
    assert cases["text"].to_list() == [
        *("A friend of a m$1", "A friend of a w", "A friend", "A friend", "A m$1", "A w"),
        *(
            "m$1: friend of a m$1",
            "w: friend of a w",
            "m$1: friend",
            "w: friend",
            "m$1: m$1",
            "w: w",
        ),
    ]


def test_intersections_are_all_combinations_of_groups_and_terms(tmp_path: Path) -> None:
    tokens = {"<group1>": "age", "<group2>": "gender"}
    templates = pack_of(
        {"text": "A <group2> and <group1> <x>"},
        {"text": "only <group2>"},
        {"text": "only <group1>"},
        group_token=tokens,
    )
    pack = make_pack(tmp_path, templates, {"x": "."})
    cases = whole(expand(pack))
    assert cases.select("bias_type", "group", "term", "text").rows()[:6] == [
        ("age & gender", "young & male", "kid & man", "A man and kid ."),
        ("age & gender", "young & male", "kid & boy", "A boy and kid ."),
        ("age & gender", "young & female", "kid & woman", "A woman and kid ."),
        ("age & gender", "old & male", "elder & man", "A man and elder ."),
        ("age & gender", "old & male", "elder & boy", "A boy and elder ."),
        ("age & gender", "old & female", "elder & woman", "A woman and elder ."),
    ]
    parts = cases[6:].select("template", "bias_type", "term").rows()
    assert parts == [(1, "gender", term) for term in ("man", "boy", "woman")] + [
        (2, "age", term) for term in ("kid", "elder")
    ]
    assert (pack.cases, pack.instances) == (3, 11)


def test_one_group_token_may_represent_one_bias_type(tmp_path: Path) -> None:
    cases = whole(
        expand(make_pack(tmp_path, pack_of({"text": "[WHO]"}, group_token={"[WHO]": "age"})))
    )
    assert cases.select("bias_type", "text").rows() == [("age", "kid"), ("age", "elder")]


def test_a_group_token_with_a_number_may_be_another_one(tmp_path: Path) -> None:
    tokens = {"<group>": "age", "<group:2>": "gender"}
    cases = whole(
        expand(
            make_pack(
                tmp_path, pack_of({"text": "<group> <group:2> <group:1>"}, group_token=tokens)
            )
        )
    )
    assert cases["text"][:2].to_list() == ["kid man kid", "kid boy kid"]


def test_a_few_cases_of_many_are_expanded_alone(tmp_path: Path) -> None:
    words = "\n".join(f"w{number}" for number in range(1000))
    pack = make_pack(
        tmp_path, pack_of({"text": "<w>" * 2 + "<group>"}, {"text": "<group><w>"}), {"w": words}
    )
    assert (pack.cases, pack.instances) == (1_001_000, 5_005_000)
    few = expand_cases(pack, 999_999, 1_000_001)
    assert few["text"].to_list()[4:6] == ["w999w999elder", "manw0"]
    assert few["instance"].to_list() == list(range(4_999_995, 5_000_005))
    assert few["case"].to_list() == [999_999] * 5 + [1_000_000] * 5
    assert expand_cases(pack, 7, 7).is_empty()
    validate_table(
        expand_cases(pack, 7, 7), schema_of_pack(pack).remove_columns(["asked_before"]), "empty"
    )


def test_the_same_text_of_several_groups_is_a_repetition_in_any_part(tmp_path: Path) -> None:
    """The term `kid` stands in two groups, and fillings without group tokens make all terms
    alike.
    """
    biases = {
        "age": {"young": ["kid"], "old": ["elder"]},
        "role": {"child": ["kid"], "parent": ["mother"]},
    }
    fillings = {"who": "friend\n<group>", "x": "a\nb"}
    pack = make_pack(tmp_path, pack_of({"text": "A <who> <x>"}), fillings, biases)
    cases = whole(expand(pack))
    assert cases["text"].n_unique() < len(cases) == request_keys(cases).n_unique()
    for rows in (1, 5, 9):
        assert whole(expand(pack, rows=rows)).equals(cases)


def plain_expansion(
    content: dict[str, Any], fillings: dict[str, list[str]]
) -> Iterator[tuple[Any, ...]]:
    """Expands by plain string replacement, as the spec tells it (B1 to B3)."""
    case = instance = 0
    token = content["group_token"]
    tokens = {token: None} if isinstance(token, str) else token
    for number, template in enumerate(content["templates"]):
        seen: Counter[str] = Counter()

        def numbered(found: re.Match[str], seen: Counter[str] = seen) -> str:
            seen[found[1]] += 1
            return f"<{found[1]}:{seen[found[1]]}>"

        fields = {
            name: re.sub("<([xy])>", numbered, text)
            for name, text in template.items()
            if isinstance(text, str)
        }
        holes = list(
            dict.fromkeys(chain(*(re.findall(r"<[xy]:\d>", text) for text in fields.values())))
        )
        for words in product(*(fillings[hole[1]] for hole in holes)):
            texts = {}
            for name, text in fields.items():
                for hole, word in zip(holes, words, strict=True):
                    text = text.replace(hole, word)
                texts[name] = text
            held = [
                each
                for each in tokens
                if any(is_held(each, fields[name], fillings) for name in ("q", "c"))
            ]
            for kinds in product(*([tokens[each]] if tokens[each] else BIASES for each in held)):
                for groups in product(*(BIASES[kind] for kind in kinds)):
                    for terms in product(
                        *(BIASES[kind][group] for kind, group in zip(kinds, groups, strict=True))
                    ):
                        filled = dict(texts)
                        for each, term in zip(held, terms, strict=True):
                            filled = {
                                name: text.replace(each, term) for name, text in filled.items()
                            }
                        names = (" & ".join(parts) for parts in (kinds, groups, terms))
                        label = template["label"]
                        gold = [label if isinstance(label, kind) else None for kind in (int, list)]
                        inputs = filled["q"], filled["c"]
                        yield (
                            instance,
                            case,
                            number,
                            *names,
                            *inputs,
                            gold[0],
                            filled.get("label"),
                            gold[1],
                        )
                        instance += 1
            case += 1


def is_held(token: str, field: str, fillings: dict[str, list[str]]) -> bool:
    return token in field or any(
        token in word for name in fillings if f"<{name}:" in field for word in fillings[name]
    )


def test_swapped_cases_hold_the_fillings_of_each_placeholder_in_reversed_order(
    tmp_path: Path,
) -> None:
    template = {"q": "<x> and <x> with <y>: <group>", "label": 0}
    header = {"group_token": "<group>", "input_names": ["q"], "label_name": "label"}
    cases = whole(
        expand(make_pack(tmp_path, {**header, "templates": [template]}, {"x": "a\nb", "y": "c\nd"}))
    )
    first = cases.unique("case", keep="first", maintain_order=True)
    texts = dict(first.select("case", pl.col("text").str.split(":").list.first()).rows())
    swapped = {
        texts[case]: texts.get(other) for case, other in first.select("case", "swapped_case").rows()
    }
    assert swapped["a and b with c"] == "b and a with c"
    assert swapped["b and a with d"] == "a and b with d"
    assert swapped["a and a with c"] is None
    assert len(swapped) == 8


@st.composite
def small_contents(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, list[str]]]:
    token = draw(
        st.sampled_from(["<g>", "[WHO]", "<xx>", {"<g>": "age"}, {"<g>": "gender", "[WHO]": "age"}])
    )
    tokens = list(token) if isinstance(token, dict) else [token]
    words = ["a", "|", "$1", "{}", "a < b", ""]
    word = st.sampled_from(["b", "b c", "|", "$2", f"of {tokens[0]}"])
    fillings = {name: draw(st.lists(word, min_size=1, max_size=2, unique=True)) for name in "xy"}
    part = st.sampled_from([*words, *tokens, "<x>", "<y>", "<x>", "<x:1>", "<x:2>", "<y:1>"])
    text = st.lists(part, max_size=4).map(" ".join)
    label = draw(
        st.sampled_from(
            [st.just(["<x>", "t"]), st.integers(0, 3), text.map(lambda answer: f"is {answer}")]
        )
    )
    templates = []
    for _ in range(draw(st.integers(1, 3))):
        fields = {
            "q": text,
            "c": text.map(f"{draw(st.sampled_from(tokens))} {{}}".format),
            "n": text,
            "label": label,
        }
        names = draw(st.permutations(list(fields)))
        templates.append({name: draw(fields[name]) for name in names})
    header = {"group_token": token, "input_names": ["q", "c"], "label_name": "label"}
    return {**header, "templates": templates}, fillings


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(small_contents(), st.integers(0, 40))
def test_expansion_matches_plain_string_replacement(
    contents: tuple[dict[str, Any], dict[str, list[str]]], cut: int
) -> None:
    content, fillings = contents
    with tempfile.TemporaryDirectory() as folder:
        files = {name: "\n".join(words) for name, words in fillings.items()}
        try:
            pack = make_pack(Path(folder), content, files)
        except InputError as error:
            known = "in its inputs, but one in 'label'", "has the same inputs as"
            assert all(any(each in str(fault) for each in known) for fault in error.faults)  # noqa: PT017
            assume(False)
    assume(pack.cases < 200)
    cases = whole(expand(pack))
    validate_table(cases, schema_of_pack(pack), "cases")
    names = [
        "instance",
        "case",
        "template",
        "bias_type",
        "group",
        "term",
        "text",
        "text_pair",
        "label",
        "answer",
    ]
    rows = [
        (*(row[name] for name in names), targets_of(row)) for row in cases.iter_rows(named=True)
    ]
    assert rows == list(plain_expansion(content, fillings))
    swapped = dict(cases.drop_nulls("swapped_case").select("case", "swapped_case").rows())
    assert all(swapped[other] == case != other for case, other in swapped.items())
    assert len(cases) == pack.instances
    assert pack.instances == sum(
        prod(len(fillings[slot.token]) for slot in template.slots)
        * sum(
            prod(sum(map(len, BIASES[kind].values())) for kind in kinds)
            for kinds in pack.bias_types(tokens)
        )
        for template, tokens in ((template, pack.tokens(template)) for template in pack.templates)
    )
    assert not cases.select(
        pl.any_horizontal(pl.col("text", "text_pair", "answer").str.contains(r"<\w+(:\d+)?>").any())
    ).item()
    two = [expand_cases(pack, *ends) for ends in ((0, cut), (cut, pack.cases))]
    assert pl.concat(two).equals(cases.drop("asked_before"))
    assert whole(expand(pack, rows=cut)).equals(cases)
    assert request_keys(cases).is_unique().all()
