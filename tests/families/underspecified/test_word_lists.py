from collections import Counter
from pathlib import Path

import pytest
from small_lists import LISTS, MASKED, read

from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.families.underspecified.read import WordListFiles, WordLists
from biasgrid.families.underspecified.read import read as read_word_lists

ROOT = Path(__file__).parents[3]


def test_good_lists_have_no_faults(tmp_path: Path) -> None:
    lists, faults = read(tmp_path, filler="[aug] yes no --\n")
    assert faults == []
    assert lists.filler == "[aug] yes no --"
    assert lists.subjects[0].forms == {"[subj]": ["Ann", "Bob"]}
    assert lists.subjects[0].groups == ["female", "male"]
    (cooks,) = lists.attributes["[p_act]"]
    assert (cooks.name, cooks.group, cooks.texts["[p_act:neg]"]) == ("cooks", "food", "never cooks")


def test_lines_are_stripped_and_comments_dropped(tmp_path: Path) -> None:
    subjects = (
        "\ufeff# names\r\n\n  [subj]  female |  Ann Lee \r\n#[subj] Eve\n\t[subj] male\t| Bob"
    )
    lists, faults = read(tmp_path, subjects=subjects)
    assert faults == []
    assert lists.subjects[0].forms == {"[subj]": ["Ann Lee", "Bob"]}
    assert lists.subjects[0].groups == ["female", "male"]


def test_singular_attributes_are_named_by_their_plural_and_clustered_by_the_last_head(
    tmp_path: Path,
) -> None:
    attributes = (
        "[p_act] rude | were rude\n[p_act:neg] calm | were not rude\n"
        "[p_act-single] was rude\n[p_act-single:neg] crime \t| was not rude\n"
    )
    lists, faults = read(tmp_path, attributes=attributes)
    assert faults == []
    assert [(row.name, row.group) for rows in lists.attributes.values() for row in rows] == [
        ("were rude", "calm"),
        ("were rude", "crime"),
    ]


@pytest.mark.parametrize(
    "template",
    [
        MASKED.replace("[mask] [p_act].", "[p_act]."),
        MASKED.replace("[mask] [p_act:neg]", "[mask] [mask] [p_act:neg]"),
        MASKED.replace("sat", "[mask]"),
    ],
)
def test_a_missing_or_second_mask_is_a_fault(tmp_path: Path, template: str) -> None:
    assert read(tmp_path, mask="[MASK]", templates=MASKED)[1] == []
    assert read(tmp_path, mask="[MASK]", templates=MASKED + template)[1] == [
        (
            "templates.txt, line 2: [mask] does not appear exactly once in both statements; "
            "expected one [mask] in each statement, and none in the context"
        )
    ]


def test_two_lists_may_have_one_subject_each(tmp_path: Path) -> None:
    assert read(tmp_path, subjects="[subj] female | Ann\n", others="[subj] male | Bob\n")[1] == []


def test_the_two_spaces_of_a_filler_belong_to_its_format(tmp_path: Path) -> None:
    lists, faults = read(tmp_path, filler="yes no  [text] (CNN) --\n")
    assert (lists.filler, faults) == ("yes no  [text] (CNN) --", [])


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    _, faults = read_word_lists(
        WordListFiles(tmp_path / "none.txt", (tmp_path,), tmp_path / "a.txt", None, None, {})
    )
    assert [str(fault).removeprefix(f"{tmp_path}") for fault in faults] == [
        "/none.txt: cannot be read (No such file or directory); expected a word list",
        ": cannot be read (Is a directory); expected a word list",
        "/a.txt: cannot be read (No such file or directory); expected a word list",
    ]


def test_all_faults_of_all_files_are_found_at_once(tmp_path: Path) -> None:
    _, faults = read(
        tmp_path,
        templates=LISTS["templates"]
        + "no tab\n[subj1] met [subj2].\tWho [oops]?\tWho [p_act:neg]?\n",
        subjects=LISTS["subjects"] + "[subj] x | y | Eve\nFred\n[subj:dem] Annish\n",
        attributes=LISTS["attributes"] + "[p_act] food | sings\n",
        filler="\n",
    )
    places = [fault.split(":")[0] for fault in faults]
    assert Counter(place.split(",")[0] for place in places) == {
        "templates.txt": 2,
        "subjects.txt": 3,
        "attributes.txt": 1,
        "filler.txt": 1,
    }


def test_the_digest_depends_on_the_content_alone(tmp_path: Path) -> None:
    before = read(tmp_path)[0].digest()
    spaced = {
        name: f"# comment\n\n{content.replace(chr(10), chr(10) * 2)}"
        for name, content in LISTS.items()
    }
    assert read(tmp_path, **spaced)[0].digest() == before
    for name, old, new in (
        ("subjects", "Ann", "Eve"),
        ("attributes", "food", "foods"),
        ("templates", "Who", "Which"),
    ):
        assert read(tmp_path, **{name: LISTS[name].replace(old, new)})[0].digest() != before
    assert read(tmp_path, filler="yes")[0].digest() != before


@pytest.fixture(scope="module")
def own_lists() -> dict[tuple[str, str], WordLists]:
    """The word lists of the standard grid; reading them raises where they have faults."""
    content = read_config(ROOT / "config" / "config.yaml") | {
        "word_lists": str(ROOT / "word_lists")
    }
    return load_word_lists(parse_config(content, "config.yaml"))


@pytest.mark.parametrize(
    ("dataset", "subjects", "attributes"),
    [
        ("gender", [70, 70], 70),
        ("nationality", [69], 50),
        ("ethnicity", [15], 50),
        ("religion", [11], 50),
    ],
)
def test_our_lists_are_as_large_as_the_papers(
    own_lists: dict[tuple[str, str], WordLists], dataset: str, subjects: list[int], attributes: int
) -> None:
    variants = [lists for (name, _), lists in own_lists.items() if name == dataset]
    assert len(variants) == 4
    for lists in variants:
        counts = [len(part.groups) for part in lists.subjects]
        assert len(counts) == len(subjects)
        assert all(count >= least for count, least in zip(counts, subjects, strict=True))
        assert len(lists.attributes["[p_act]"]) >= attributes


def test_our_lists_have_all_clusters(own_lists: dict[tuple[str, str], WordLists]) -> None:
    women, men = own_lists["gender", "qa"].subjects
    assert set(women.groups) == {"female"}
    assert set(men.groups) == {"male"}
    for dataset in ("nationality", "ethnicity", "religion"):
        rows = [row for rows in own_lists[dataset, "qa"].attributes.values() for row in rows]
        assert {row.group for row in rows} == {"rude", "crime", "indecent", "poor", "negative"}
    assert {row.group for row in own_lists["gender", "qa"].attributes["[p_act]"]} == {None}


ANTONYMS = "[p_act] food | cooks\n[p_act:neg] food | never cooks\n[p_act:antonym] food | eats out\n"


def test_antonyms_replace_negations_on_request(tmp_path: Path) -> None:
    texts = {}
    for antonyms in (False, True):
        lists, faults = read(tmp_path, attributes=ANTONYMS, antonyms=antonyms)
        assert faults == []
        ((row,),) = lists.attributes.values()
        assert row.name == "cooks"
        texts[antonyms] = row.texts
    assert texts == {
        False: {"[p_act]": "cooks", "[p_act:neg]": "never cooks"},
        True: {"[p_act]": "cooks", "[p_act:neg]": "eats out"},
    }
    # Whoever does not ask for them is asked the same, whatever they are.
    changed_antonyms, _ = read(tmp_path, attributes=ANTONYMS.replace("eats out", "starves"))
    assert changed_antonyms.digest() == read(tmp_path)[0].digest()


@pytest.mark.parametrize(
    ("attributes", "antonyms", "expected"),
    [
        (
            LISTS["attributes"],
            True,
            (
                "attributes.txt: [p_act] has no [p_act:antonym] lines, but the dataset asks for "
                "`antonyms`; expected an antonym of each attribute, or `antonyms: false`"
            ),
        ),
        (
            ANTONYMS.replace("eats out", "cooks"),
            False,
            (
                "attributes.txt, line 3: 'cooks' is also the [p_act] of line 1; expected its "
                "antonym, because otherwise both questions would be the same"
            ),
        ),
        (
            ANTONYMS + "[p_act] food | bakes\n[p_act:neg] food | never bakes\n",
            False,
            (
                "attributes.txt, line 3: columns of different lengths: [p_act] 2, [p_act:neg] 2, "
                "[p_act:antonym] 1; expected as many [p_act:antonym] lines as other lines (the "
                "last one is line 3)"
            ),
        ),
    ],
)
def test_each_attribute_has_an_antonym_if_one_has(
    tmp_path: Path, attributes: str, antonyms: bool, expected: str
) -> None:
    assert read(tmp_path, attributes=attributes, antonyms=antonyms)[1] == [expected]
