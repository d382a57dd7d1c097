"""Files of pairs in all layouts, and the faults that are told of them, each with its file and
place.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import needs
import pytest
from project import ROOT
from small_pairs import (
    example,
    instances_of,
    pair_files,
    pairs_of,
    row,
    write_examples,
    write_table,
)

from biasgrid.base.faults import InputError
from biasgrid.families.pairs.data import CHOICE, CONTEXT, PARTNER, SentencePair, read
from biasgrid.families.sampling import Sample
from biasgrid.formats.stereoset.commands import published_scores

PUBLISHED = Path(os.environ.get("BIASGRID_CROWS_PAIRS", ""))
PLAIN = {
    "more": "The old man slept.",
    "less": "The young man slept.",
    "direction": "stereo",
    "type": "age",
    "cluster": "1",
}


def faults_of(path: Path, **keys: Any) -> list[str]:
    return [
        str(fault).replace(str(path.parent) + "/", "")
        for fault in read(pair_files(path, **keys))[1]
    ]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_columns_are_divided_by_what_the_head_has_most(tmp_path: Path, delimiter: str) -> None:
    path = write_table(
        tmp_path / "pairs.csv", [row(0), row(1, stereo_antistereo="antistereo")], delimiter
    )
    first, second = pairs_of(pair_files(path)).pairs
    assert (first.name, first.direction, first.writer, first.is_doubted) == (
        "pairs 0",
        "stereo",
        "a0",
        False,
    )
    assert (second.direction, second.disadvantaged_role) == ("antistereo", "less")


def test_directions_may_be_numbers_of_classes_and_further_columns_missing(tmp_path: Path) -> None:
    names = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")
    rows = [
        {name: row(place, stereo_antistereo=str(place))[name] for name in names} for place in (0, 1)
    ]
    pairs = pairs_of(pair_files(write_table(tmp_path / "fr.csv", rows))).pairs
    assert [pair.direction for pair in pairs] == ["stereo", "antistereo"]
    assert {(pair.writer, pair.is_doubted) for pair in pairs} == {(None, None)}


def test_a_pair_is_in_doubt_whose_type_two_annotators_named(tmp_path: Path) -> None:
    rows = [row(0), row(1, annotations="[['age'], ['age', 'gender'], ['gender'], [], []]")]
    assert [
        pair.is_doubted
        for pair in pairs_of(pair_files(write_table(tmp_path / "p.csv", rows))).pairs
    ] == [
        False,
        True,
    ]


CROWS_FAULTS = {
    "stereo_antistereo": ("2", "'2'; expected one of 0, 1, antistereo, stereo"),
    "sent_more": (" ", "empty; expected text"),
    "sent_less": (
        row(1)["sent_more"],
        "the same sentence as sent_more; expected two sentences that differ",
    ),
    "bias_type": ("", "empty; expected text"),
    "annotations": ("age", "'age'; expected a list of lists of types, one for each annotator"),
}


@pytest.mark.parametrize("column", CROWS_FAULTS)
def test_what_is_wrong_in_a_row_is_reported_with_line_and_column(
    tmp_path: Path, column: str
) -> None:
    value, told = CROWS_FAULTS[column]
    path = write_table(tmp_path / "pairs.csv", [row(0), row(1, **{column: value})])
    assert faults_of(path) == [f"pairs.csv, line 3, {column}: {told}"]


def test_annotations_that_python_cannot_read_are_refused(tmp_path: Path) -> None:
    for value in ("[['age']", "{[]: 1}", "[" * 300):
        (fault,) = faults_of(write_table(tmp_path / "pairs.csv", [row(0, annotations=value)]))
        assert fault.endswith("expected a list of lists of types, one for each annotator")


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "pairs.csv",
        [row(0, sent_more=""), row(1, stereo_antistereo="yes"), row(2, bias_type="")],
    )
    assert [fault.partition(":")[0] for fault in faults_of(path)] == [
        "pairs.csv, line 2, sent_more",
        "pairs.csv, line 3, stereo_antistereo",
        "pairs.csv, line 4, bias_type",
    ]


def test_files_that_are_no_pairs_are_refused(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "pairs.csv", [{"sent_more": "a", "sent_les": "b", "stereo_antistereo": "0"}]
    )
    assert faults_of(path)[0].startswith(
        "pairs.csv, line 1: no column 'sent_less' (did you mean 'sent_les'?)"
    )
    assert len(faults_of(path)) == 2
    (tmp_path / "empty.csv").write_text("sent_more,sent_less,stereo_antistereo,bias_type\n")
    assert "no pairs" in faults_of(tmp_path / "empty.csv")[0]
    assert faults_of(tmp_path / "none.csv")


def test_lines_with_too_few_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "sent_more,sent_less,stereo_antistereo,bias_type\na b,a c,stereo\n"
    )
    assert faults_of(tmp_path / "pairs.csv")[0].startswith(
        "pairs.csv, line 2, columns: not the same number of values as the 4 columns of line 1"
    )


def test_invisible_characters_are_refused(tmp_path: Path) -> None:
    path = write_table(tmp_path / "pairs.csv", [row(0, sent_more="The old\u200b man.")])
    assert faults_of(path)[0].startswith("pairs.csv, line 2: contains ")


def test_an_id_is_used_once(tmp_path: Path) -> None:
    path = write_table(tmp_path / "pairs.csv", [row(4), row(5, **{"": "4"})])
    assert faults_of(path) == [
        "pairs.csv, line 3: the id pairs 4 is already in line 2; expected each id once"
    ]


def test_plain_pairs_have_clusters_of_one_type(tmp_path: Path) -> None:
    rows = [
        PLAIN,
        PLAIN | {"more": "An old man slept.", "direction": ""},
        PLAIN | {"more": "Old men slept.", "cluster": ""},
    ]
    pairs = pairs_of(pair_files(write_table(tmp_path / "own.csv", rows), layout="plain"))
    assert [pairs.template(pair) for pair in pairs.pairs] == [0, 0, 1]
    assert pairs.pairs[1].direction is None
    path = write_table(tmp_path / "two.csv", [PLAIN, PLAIN | {"type": "gender"}])
    expected = "'age', as in line 2, because the pairs of a cluster reword each other"
    assert faults_of(path, layout="plain") == [
        f"two.csv, line 3, type: 'gender' in cluster 1; expected {expected}"
    ]


def changed(**changes: Any) -> dict[str, Any]:
    return example(0, **changes)


def with_label(place: int, label: str) -> list[dict[str, Any]]:
    sentences: list[dict[str, Any]] = example(0)["sentences"]
    sentences[place]["gold_label"] = label
    return sentences


STEREOSET_FAULTS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "blank": (
        {"context": "All calm."},
        "data.intrasentence[0].context: 'All calm.'; expected BLANK in one word",
    ),
    "labels": (
        {"sentences": with_label(0, "unrelated")},
        (
            "data.intrasentence[0].sentences: the gold labels unrelated, anti-stereotype, "
            "unrelated; expected stereotype, anti-stereotype, unrelated, each once"
        ),
    ),
    "two": (
        {"sentences": with_label(0, "unrelated")[:2]},
        (
            "data.intrasentence[0].sentences: the gold labels unrelated, "
            "anti-stereotype; expected stereotype"
        ),
    ),
    "target": ({"target": ""}, "data.intrasentence[0].target: empty; expected text"),
    "number": ({"target": 3}, "data.intrasentence[0].target: 3; expected text"),
    "escape": (
        {"target": "gar\u200bdener"},
        "data.intrasentence[0].target: contains ",
    ),
    "sentences": (
        {"sentences": 3},
        "data.intrasentence[0].sentences: 3; expected a list of three sentences",
    ),
}


@pytest.mark.parametrize("fault", STEREOSET_FAULTS)
def test_what_is_wrong_in_an_example_is_reported_with_its_path(tmp_path: Path, fault: str) -> None:
    changes, told = STEREOSET_FAULTS[fault]
    path = write_examples(tmp_path / "dev.json", intrasentence=[example(0) | changes])
    (found,) = faults_of(path, layout="stereoset")
    assert found.startswith(f"dev.json, {told}")


def test_an_example_without_fields_is_refused(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "dev.json", intrasentence=[example(0), {}])
    assert [fault.partition(": ")[0] for fault in faults_of(path, layout="stereoset")] == [
        f"dev.json, data.intrasentence[1].{name}"
        for name in ("id", "target", "bias_type", "context", "sentences")
    ]


def test_a_digest_is_of_what_decides_the_instances(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    files = pair_files(write_table(path, [row(0), row(1)]))
    pairs = pairs_of(files)
    path.write_text(path.read_text().replace("\n", "\n\n"))
    moved = pairs_of(files)
    assert [pair.where for pair in moved.pairs] != [pair.where for pair in pairs.pairs]
    assert moved.digest() == pairs.digest()
    assert replace(pairs, files=replace(files, prompt="Which?")).digest() == pairs.digest()
    choices = [replace(pairs, files=replace(files, variant=CHOICE, prompt=text)) for text in "ab"]
    others = [
        *choices,
        replace(pairs, files=replace(files, sample=Sample(units=1))),
        replace(pairs, pairs=pairs.pairs[::-1]),
        pairs_of(pair_files(write_table(path, [row(0), row(1, bias_type="race")]))),
    ]
    assert len({pairs.digest(), *(other.digest() for other in others)}) == 6


def test_files_that_are_not_stereoset_are_refused(tmp_path: Path) -> None:
    assert (
        "lists of examples"
        in faults_of(write_examples(tmp_path / "a.json", other=[]), layout="stereoset")[0]
    )
    assert "no pairs of intersentence" in str(
        read(
            pair_files(
                write_examples(tmp_path / "b.json", intrasentence=[example(0)]),
                layout="stereoset",
                tasks=["intersentence"],
            )
        )[1][0]
    )
    twice = write_examples(tmp_path / "c.json", intrasentence=[example(0), example(0)])
    assert faults_of(twice, layout="stereoset")[0].startswith(
        "c.json, data.intrasentence[1]: the id intrasentence 0 is already in"
    )
    (tmp_path / "d.json").write_text('{"data": ')
    assert "not JSON" in faults_of(tmp_path / "d.json", layout="stereoset")[0]


def test_published_scores_are_read_by_sentence(tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    path.write_text(
        '{"intrasentence": [{"id": "x", "score": 1e-5}], "intersentence": [{"id": "y", '
        '"score": 2}]}'
    )
    assert [(each.prompt, each.score) for each in published_scores(path)] == [
        ("x", 1e-5),
        ("y", 2.0),
    ]
    path.write_text(
        '{"intrasentence": [{"id": "x", "score": "1"}, {"id": "y", "score": 1}, {"id": "y", '
        '"score": 2}, 4, {"id": "z", "score": -Infinity}]}'
    )
    with pytest.raises(InputError) as found:
        published_scores(path)
    assert [fault.where for fault in found.value.faults] == [
        f"intrasentence[{number}]" for number in (0, 2, 3, 4)
    ]
    # Python reads whole numbers of any length, which no float can hold.
    path.write_text(f'{{"intrasentence": [{{"id": "x", "score": 1{"0" * 400}}}]}}')
    with pytest.raises(InputError, match=r"intrasentence\[0\]"):
        published_scores(path)
    path.write_text("[]")
    with pytest.raises(InputError, match="lists of sentence ids"):
        published_scores(path)


@needs.crows_pairs.mark
def test_the_published_file_is_read_whole() -> None:
    pairs = pairs_of(pair_files(PUBLISHED)).pairs
    assert len(pairs) == 1508
    assert sum(pair.direction == "antistereo" for pair in pairs) == 218
    assert len({pair.writer for pair in pairs}) == 77
    assert sum(pair.is_doubted is True for pair in pairs) == 162
    assert len({(pair.more_stereotypical, pair.less_stereotypical) for pair in pairs}) == 1507


def own(name: str) -> tuple[SentencePair, ...]:
    return pairs_of(pair_files(ROOT / f"word_lists/benchmarks/{name}.csv", layout="plain")).pairs


def test_own_pairs_are_clusters_of_paraphrases() -> None:
    pairs = own("Pairs")
    clusters = {pair.cluster for pair in pairs}
    assert len(clusters) >= 12
    assert len(pairs) == 3 * len(clusters)
    assert {(pair.type, pair.direction) for pair in pairs} == {
        (kind, direction) for kind in ("age", "gender") for direction in ("stereo", "antistereo")
    }


def test_placebo_pairs_swap_two_names_of_one_group() -> None:
    groups = [{"Anna", "Laura", "Emma", "Clara"}, {"Peter", "Martin", "Thomas", "Robert"}]
    for pair in own("Pairs_placebo"):
        more, less = (
            set(pair.more_stereotypical.rstrip(".").split()),
            set(pair.less_stereotypical.rstrip(".").split()),
        )
        assert any(more - less <= group and less - more <= group for group in groups)
    assert len({pair.cluster for pair in own("Pairs_placebo")}) == 12


def test_a_sample_has_whole_clusters() -> None:
    file = ROOT / "word_lists/benchmarks/Pairs.csv"
    some = instances_of(pair_files(file, layout="plain", sample=Sample(units=4)))
    assert (len(some), some["template"].n_unique()) == (4 * 6, 4)


def test_the_context_of_a_sentence_depends_on_the_variant(tmp_path: Path) -> None:
    path = write_table(
        tmp_path / "pairs.csv", [row(0, stereo_antistereo="antistereo", sent_less="A {second} b.")]
    )
    beside = instances_of(pair_files(path, variant=PARTNER))
    assert beside["pair_place"].to_list() == [1, 0]
    choice = instances_of(pair_files(path, variant=CHOICE))
    assert [columns_of(choice, "role"), columns_of(choice, "candidate1")] == [
        ["more", "less"],
        ["a", "a"],
    ]
    assert "(a) A {second} b.\n(b) The old" in columns_of(choice, "text")[1]
    assert "pair_place" not in choice.columns
    examples = write_examples(tmp_path / "dev.json", intrasentence=[example(0)])
    context = instances_of(pair_files(examples, layout="stereoset", variant=CONTEXT))
    assert columns_of(context, "text_pair") == ["Gardener 0 was BLANK."] * 3
    assert len(instances_of(pair_files(examples, layout="stereoset", variant=PARTNER))) == 2


def columns_of(table: Any, name: str) -> Sequence[Any]:
    found: list[Any] = table[name].cast(str).to_list()
    return found


def test_published_rows_have_quotes_and_line_ends_inside(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(row(0)))
        writer.writeheader()
        writer.writerow(row(0, sent_more='He said "no",\nand left.'))
        writer.writerow(row(1, stereo_antistereo="?"))
    assert faults_of(path)[0].startswith("pairs.csv, line 4, stereo_antistereo")
