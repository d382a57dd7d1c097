"""What becomes of texts about one group when they are to be about another, and what is wrong with
word files.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_rewriting import LISTS, groups_of

from biasgrid.families.rewriting.group_words import Rewriter, groups_digest, read_group_words

GENDER = Rewriter(groups_of("gender"))
NAMES = GENDER.groups.names
NEUTRAL = len(NAMES)


@pytest.mark.parametrize(
    ("text", "female", "male", "neutral"),
    [
        (
            "He sold his car, not hers.",
            "She sold her car, not hers.",
            "He sold his car, not his.",
            "They sold their car, not theirs.",
        ),
        (
            "I saw her and gave her the book.",
            "I saw her and gave her the book.",
            "I saw him and gave him the book.",
            "I saw them and gave them the book.",
        ),
        (
            "She's late; SHE was ill.",
            "She's late; SHE was ill.",
            "He's late; HE was ill.",
            "They're late; THEY were ill.",
        ),
        (
            "An actress met a guy.",
            "An actress met a lady.",
            "An actor met a guy.",
            "An actor met a person.",
        ),
        (
            "The chairman humanely managed women.",
            "The chairwoman humanely managed women.",
            "The chairman humanely managed men.",
            "The chair humanely managed people.",
        ),
        (
            "A uncle's nieces",
            "An aunt's nieces",
            "A uncle's nephews",
            "A parent's sibling's siblings' children",
        ),
    ],
)
def test_words_are_exchanged_for_the_words_of_a_group(
    text: str, female: str, male: str, neutral: str
) -> None:
    found = [
        GENDER.rewrite(text, place)
        for place in (NAMES.index("female"), NAMES.index("male"), NEUTRAL)
    ]
    assert found == [female, male, neutral]


@given(
    st.lists(
        st.sampled_from([*GENDER.readings, "the", "a", "an", "is", "book", ".", "and"]), max_size=12
    )
)
def test_what_is_rewritten_twice_is_rewritten_once(words: list[str]) -> None:
    text = " ".join(words)
    for place in range(2):
        once = GENDER.rewrite(text, place)
        assert GENDER.rewrite(once, place) == once
    assert GENDER.rewrite("The book is blue.", 0) == "The book is blue."


@pytest.mark.parametrize("name", sorted(path.stem for path in LISTS.glob("*.yaml")))
def test_files_of_words_have_no_fault_and_a_neutral_word_in_each_row(name: str) -> None:
    groups = groups_of(name)
    assert groups.has_neutral
    assert len(groups.names) >= 2


ROWS = "bias_type: b\ngroups: [cats, dogs]\n"


def groups_in(folder: Path, text: str) -> tuple[Rewriter | None, list[str]]:
    file = folder / "groups.yaml"
    file.write_text(text)
    groups, faults = read_group_words(file)
    return groups and Rewriter(groups), [str(fault).removeprefix(f"{file}, ") for fault in faults]


def test_words_hold_where_what_they_need_follows(tmp_path: Path) -> None:
    (tmp_path / "people.txt").write_text("# words\nman\nwomen\n")
    rewriter, faults = groups_in(
        tmp_path, f"{ROWS}people: people.txt\nbefore_person:\n  - [black, white]\n"
    )
    assert rewriter is not None, faults
    assert rewriter.rewrite("A black man in a black car met Black women.", 1) == (
        "A white man in a black car met White women."
    )


def test_a_digest_of_groups_covers_all_their_words_in_instances(tmp_path: Path) -> None:
    file = tmp_path / "groups.yaml"
    rows = "words:\n  - [tabby, hound, pet]\n"
    digests = []
    for text in (
        ROWS + rows,
        f"warning: w\n{ROWS}\n{rows}",
        ROWS.replace("bias_type: b", "bias_type: c") + rows,
        ROWS + rows.replace("tabby", "tabby*"),
        ROWS,
    ):
        file.write_text(text)
        digests.append(groups_digest(file))
    plain, warned, *others, faulty = digests
    assert plain == warned
    assert len({plain, *others}) == 3
    assert faulty == ""


def test_a_word_of_two_rows_takes_the_marked_one_and_is_reported(tmp_path: Path) -> None:
    rows = "words:\n  - [tabby, hound*, pet]\n  - [queen, hound, ruler]\n"
    rewriter, faults = groups_in(tmp_path, ROWS + rows)
    assert rewriter is not None, faults
    assert (rewriter.rewrite("My hound.", 0), rewriter.ambiguous_words("My hound.")) == (
        "My tabby.",
        ["hound"],
    )
    _, faults = groups_in(tmp_path, ROWS + rows.replace("*", ""))
    assert faults == [
        (
            "line 5, words[1]: 'hound' is in 2 rows, 0 of them marked; expected hound* in the row "
            "to use by default"
        )
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "words:\n  - [a, b, c]\n  - [d, e]\n",
            (
                "line 5, words[1]: 2 words; expected 3 words, as in the other rows: one each for "
                "cats, dogs"
            ),
        ),
        (
            "words:\n  - [cat, dog]\n  - [hound, cat]\n",
            (
                "line 5, words[1]: 'cat' is a word of cats and of dogs; expected a word of only "
                "one group"
            ),
        ),
        ("words:\n  - [cat, '']\n", "line 4, words[0][1]: no word; expected a word, or a list"),
        ("words: []\n", "no words; expected rows of words in one of words, nouns"),
        (
            "before_person:\n  - [cat, dog]\n",
            "line 3, before_person: no `people`; expected `people`, a file of words",
        ),
        (
            "words:\n  - [cat, dog]\npeople: none.txt\n",
            "none.txt: cannot be read (No such file or directory)",
        ),
    ],
)
def test_bad_words_are_reported(rows: str, message: str, tmp_path: Path) -> None:
    _, faults = groups_in(tmp_path, ROWS + rows)
    assert len(faults) == 1
    assert message in faults[0]
