# ruff: noqa: E501 - messages stand here as users see them
from collections import Counter
from pathlib import Path

import pytest

from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.families.underspecified.reading import read_word_lists
from biasgrid.families.underspecified.word_lists import WordListFiles, WordLists

ROOT = Path(__file__).parents[3]
LISTS = {
    "templates": "[subj1] sat by [subj2].\tWho [p_act]?\tWho [p_act:neg]?\n",
    "subjects": "[subj] female | Ann\n[subj] male | Bob\n",
    "attributes": "[p_act] food | cooks\n[p_act:neg] food | never cooks\n",
}
MASKED = "[subj1] sat by [subj2].\t[mask] [p_act].\t[mask] [p_act:neg].\n"
BOTH_FORMS = "[subj] Chad\n[subj] Mali\n[subj:dem] Chadian\n[subj:dem] Malian\n"


def read(folder: Path, mask: str | None = None, **contents: str | bytes) -> tuple[WordLists, list[str]]:
    """Reads word lists with the given contents; returns them and the faults, files by their bare names."""
    for name, content in (LISTS | contents).items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / f"{name}.txt").write_bytes(data)
    filler = folder / "filler.txt" if "filler" in contents else None
    subjects = tuple(folder / f"{name}.txt" for name in ("subjects", "others") if name in LISTS | contents)
    files = WordListFiles(folder / "templates.txt", subjects, folder / "attributes.txt", filler, mask, {})
    lists, faults = read_word_lists(files)
    return lists, [str(fault).replace(f"{folder}/", "") for fault in faults]


def test_good_lists_have_no_faults(tmp_path: Path) -> None:
    lists, faults = read(tmp_path, filler="[aug] yes no --\n")
    assert faults == []
    assert lists.filler == "[aug] yes no --"
    assert lists.subjects[0].forms == {"[subj]": ["Ann", "Bob"]}
    assert lists.subjects[0].clusters == ["female", "male"]
    (cooks,) = lists.attributes["[p_act]"]
    assert (cooks.name, cooks.cluster, cooks.texts["[p_act:neg]"]) == ("cooks", "food", "never cooks")


def test_lines_are_stripped_and_comments_dropped(tmp_path: Path) -> None:
    subjects = "\ufeff# names\r\n\n  [subj]  female |  Ann Lee \r\n#[subj] Eve\n\t[subj] male\t| Bob"
    lists, faults = read(tmp_path, subjects=subjects)
    assert faults == []
    assert lists.subjects[0].forms == {"[subj]": ["Ann Lee", "Bob"]}
    assert lists.subjects[0].clusters == ["female", "male"]


def test_singular_attributes_are_named_by_their_plural_and_clustered_by_the_last_head(tmp_path: Path) -> None:
    attributes = (
        "[p_act] rude | were rude\n[p_act:neg] calm | were not rude\n"
        "[p_act-single] was rude\n[p_act-single:neg] crime \t| was not rude\n"
    )
    lists, faults = read(tmp_path, attributes=attributes)
    assert faults == []
    assert [(row.name, row.cluster) for rows in lists.attributes.values() for row in rows] == [
        ("were rude", "calm"),
        ("were rude", "crime"),
    ]


FAULTS: dict[str, tuple[dict[str, str | bytes], list[str]]] = {
    "columns of unequal length": (
        {"subjects": BOTH_FORMS.removesuffix("[subj:dem] Malian\n")},
        [
            "subjects.txt, line 3: columns of unequal length: [subj] 2, [subj:dem] 1; expected as many [subj:dem] lines "
            "as of the others (its last one is line 3)"
        ],
    ),
    "attributes of unequal length": (
        {"attributes": LISTS["attributes"] + "[p_act] food | lies\n"},
        [
            "attributes.txt, line 2: columns of unequal length: [p_act] 2, [p_act:neg] 1; expected as many [p_act:neg] "
            "lines as of the others (its last one is line 2)"
        ],
    ),
    "a placeholder that nothing fills": (
        {"templates": LISTS["templates"].replace("[p_act]", "[p_atc]")},
        [
            "templates.txt, line 1: nothing fills [p_atc] (did you mean '[p_act]'?); expected one of [mask], [p_act:neg], "
            "[p_act], [subj1], [subj2]"
        ],
    ),
    "a form that the subjects do not have": (
        {"templates": "[subj1:dem] met [subj2:dem].\tWho [p_act]?\tWho [p_act:neg]?\n"},
        [
            f"templates.txt, line 1: nothing fills [subj{which}:dem] (did you mean '[subj{which}]'?); expected one of "
            "[mask], [p_act:neg], [p_act], [subj1], [subj2]"
            for which in (1, 2)
        ],
    ),
    "a second bar": (
        {"subjects": LISTS["subjects"] + "[subj] x | y | Eve\n"},
        ["subjects.txt, line 3: 2 '|' signs; expected at most one: cluster | term"],
    ),
    "a missing tab": (
        {"templates": "# one\n" + LISTS["templates"].replace("\tWho [p_act:neg]", " Who [p_act:neg]")},
        [
            "templates.txt, line 2: 2 tab-separated fields; expected 3: context, question and negated question, with a tab "
            "between each"
        ],
    ),
    "a subject twice": (
        {"subjects": LISTS["subjects"] + "\n[subj] male | Ann\n"},
        ["subjects.txt, line 4: subject 'Ann' stands already in line 1; expected every subject once"],
    ),
    "a subject in both lists": (
        {"others": "[subj] Eve\n[subj] Bob\n"},
        ["others.txt: subject 'Bob' stands in subjects.txt too; expected every subject once"],
    ),
    "an attribute twice": (
        {"attributes": LISTS["attributes"] * 2},
        ["attributes.txt, line 3: attribute 'cooks' stands already in line 1; expected every attribute once"],
    ),
    "an attribute without its negation": (
        {"attributes": "[p_act] cooks\n"},
        ["attributes.txt, line 1: [p_act] has no [p_act:neg] lines; expected each attribute with its negation"],
    ),
    "an attribute without its base type": (
        {"attributes": LISTS["attributes"] + "[l_act-single] burns\n[l_act-single:neg] never burns\n"},
        [
            "attributes.txt, line 3: [l_act-single] has no base type; expected [l_act] lines, which name the attributes",
        ],
    ),
    "bytes that are not UTF-8": (
        {"subjects": b"[subj] Ann\n[subj] Zo\xeb\n[subj] Bob\n"},
        ["subjects.txt, line 2: byte 10 is not UTF-8; expected UTF-8 text"],
    ),
    "no head": (
        {"subjects": LISTS["subjects"] + "Eve\n"},
        ["subjects.txt, line 3: begins with 'Eve'; expected a head such as [subj] and a space"],
    ),
    "no term": (
        {"subjects": LISTS["subjects"] + "[subj] female |\n"},
        ["subjects.txt, line 3: no term after [subj]; expected a term"],
    ),
    "no subjects": (
        {"subjects": "[subj:dem] Chadian\n"},
        ["subjects.txt: no [subj] lines, only [subj:dem]; expected [subj] lines"],
    ),
    "a context without a subject": (
        {"templates": LISTS["templates"].replace("[subj2]", "Eve")},
        ["templates.txt, line 1: [subj2] is 0 times in the context; expected both subjects once in the context"],
    ),
    "a subject twice in the context": (
        {"templates": LISTS["templates"].replace("[subj2]", "[subj2] and [subj1]")},
        ["templates.txt, line 1: [subj1] is 2 times in the context; expected both subjects once in the context"],
    ),
    "a question without the attribute": (
        {"templates": LISTS["templates"].replace("Who [p_act]?", "Who is it?")},
        ["templates.txt, line 1: the question has no attribute; expected [p_act] there"],
    ),
    "a subject in two forms": (
        {"subjects": BOTH_FORMS, "templates": LISTS["templates"].replace("Who [p_act]", "Who, [subj1:dem], [p_act]")},
        [
            "templates.txt, line 1: subject 1 in several forms: [subj1:dem], [subj1]; expected one form of a subject in a "
            "template"
        ],
    ),
    "a question that asks for the negation": (
        {"templates": LISTS["templates"].replace("[p_act]", "[p_act:neg]")},
        ["templates.txt, line 1: the question has [p_act:neg]; expected [p_act] there"],
    ),
    "a negated question that asks for what is not negated": (
        {"templates": LISTS["templates"].replace("Who [p_act:neg]", "Who never [p_act]")},
        ["templates.txt, line 1: the negated question has [p_act]; expected [p_act:neg] there"],
    ),
    "a question that asks for both": (
        {"templates": LISTS["templates"].replace("[p_act]", "[p_act] or [p_act:neg]")},
        ["templates.txt, line 1: the question has [p_act], [p_act:neg]; expected [p_act] there"],
    ),
    "a number that the attributes do not have": (
        {"templates": LISTS["templates"].replace("[p_act", "[p_act-single")},
        [
            f"templates.txt, line 1: nothing fills {head} (did you mean '[p_act:neg]'?); expected one of [mask], "
            "[p_act:neg], [p_act], [subj1], [subj2]"
            for head in ("[p_act-single]", "[p_act-single:neg]")
        ]
        + ["templates.txt, line 1: 0 attribute types (none); expected exactly one attribute type in a template"],
    ),
    "a template twice": (
        {"templates": LISTS["templates"] + "# again\n" + LISTS["templates"]},
        ["templates.txt, line 3: the template stands already in line 1; expected every template once"],
    ),
    "subjects outside the slots": (
        {"templates": LISTS["templates"].replace("sat by", "left Bob and sat in Annapolis by")},
        [
            "templates.txt, line 1: the context has 'Ann', 'Bob' outside the slots; expected no subject of the lists there, "
            "not even inside a longer word"
        ],
    ),
    "a subject's other form outside the slots": (
        {"subjects": BOTH_FORMS, "templates": LISTS["templates"].replace("sat", "took Malian coffee")},
        [
            "templates.txt, line 1: the context has 'Mali', 'Malian' outside the slots; expected no subject of the lists "
            "there, not even inside a longer word"
        ],
    ),
    "two spaces in a template": (
        {"templates": LISTS["templates"].replace("sat by", "sat  by")},
        ["templates.txt, line 1: white space in 'sat  by' in the context; expected one space between two words"],
    ),
    "two spaces in a term": (
        {
            "subjects": LISTS["subjects"].replace("Ann", "Ann  Lee"),
            "attributes": LISTS["attributes"] + "[p_act] food | is \u00a0it\n[p_act:neg] food | is it\n",
        },
        [
            "subjects.txt, line 1: white space in 'Ann  Lee'; expected one space between two words",
            "attributes.txt, line 3: white space in 'is \\xa0it'; expected one space between two words",
        ],
    ),
    "a full stop": (
        {"attributes": LISTS["attributes"].replace("cooks", "cooks.", 1)},
        ["attributes.txt, line 1: 'cooks.' ends with a full stop; expected a phrase, as templates end the sentence"],
    ),
    "a missing bar": (
        {"subjects": LISTS["subjects"] + "[subj] male Carl\n"},
        [
            "subjects.txt, line 3: no cluster, unlike other [subj] lines; expected a cluster and '|' in all [subj] lines or in none"
        ],
    ),
    "a bar too many": (
        {
            "attributes": "[p_act] cooks\n[p_act] sings\n[p_act] sound | hums\n[p_act:neg] a\n[p_act:neg] b\n[p_act:neg] c\n"
        },
        [
            "attributes.txt, line 3: a cluster, unlike other [p_act] lines; expected a cluster and '|' in all [p_act] lines or in none"
        ],
    ),
    "one subject": (
        {"subjects": "[subj] Ann\n"},
        ["subjects.txt, line 1: only one subject; expected at least 2, which are compared"],
    ),
    "two attribute types": (
        {
            "attributes": LISTS["attributes"] + "[l_act] burns\n[l_act:neg] never burns\n",
            "templates": LISTS["templates"].replace("[p_act:neg]", "[l_act:neg]"),
        },
        [
            "templates.txt, line 1: 2 attribute types ([p_act], [l_act]); expected exactly one attribute type in a template",
        ],
    ),
    "a mask in a question": (
        {"templates": MASKED},
        ["templates.txt, line 1: [mask] in a template for question answering; expected a template without [mask]"],
    ),
    "an empty file": ({"subjects": " \n"}, ["subjects.txt: the file is empty; expected one item per line"]),
    "only comments": ({"templates": "# none yet\n"}, ["templates.txt: only comments; expected one item per line"]),
    "two fillers": ({"filler": "yes\nno\n"}, ["filler.txt: 2 lines; expected exactly one line"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_file_line_problem_and_what_was_expected(tmp_path: Path, name: str) -> None:
    contents, expected = FAULTS[name]
    assert read(tmp_path, None, **contents)[1] == expected


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
        "templates.txt, line 2: [mask] is not exactly once in both statements; expected one [mask] in each statement and "
        "none in the context"
    ]


def test_two_lists_may_have_one_subject_each(tmp_path: Path) -> None:
    assert read(tmp_path, subjects="[subj] female | Ann\n", others="[subj] male | Bob\n")[1] == []


def test_the_two_spaces_of_a_filler_belong_to_its_format(tmp_path: Path) -> None:
    lists, faults = read(tmp_path, filler="yes no  [text] (CNN) --\n")
    assert (lists.filler, faults) == ("yes no  [text] (CNN) --", [])


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    _, faults = read_word_lists(WordListFiles(tmp_path / "none.txt", (tmp_path,), tmp_path / "a.txt", None, None, {}))
    assert [str(fault).removeprefix(f"{tmp_path}") for fault in faults] == [
        "/none.txt: cannot be read (No such file or directory); expected a word list",
        ": cannot be read (Is a directory); expected a word list",
        "/a.txt: cannot be read (No such file or directory); expected a word list",
    ]


def test_all_faults_of_all_files_are_found_at_once(tmp_path: Path) -> None:
    _, faults = read(
        tmp_path,
        templates=LISTS["templates"] + "no tab\n[subj1] met [subj2].\tWho [oops]?\tWho [p_act:neg]?\n",
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


def test_the_digest_is_that_of_the_content_alone(tmp_path: Path) -> None:
    before = read(tmp_path)[0].digest()
    spaced = {name: f"# comment\n\n{content.replace(chr(10), chr(10) * 2)}" for name, content in LISTS.items()}
    assert read(tmp_path, **spaced)[0].digest() == before
    for name, old, new in (("subjects", "Ann", "Eve"), ("attributes", "food", "foods"), ("templates", "Who", "Which")):
        assert read(tmp_path, **{name: LISTS[name].replace(old, new)})[0].digest() != before
    assert read(tmp_path, filler="yes")[0].digest() != before


@pytest.fixture(scope="module")
def own_lists() -> dict[tuple[str, str], WordLists]:
    """The word lists of the standard grid; reading them raises where they have faults."""
    content = read_config(ROOT / "config" / "config.yaml") | {"word_lists": str(ROOT / "word_lists")}
    return load_word_lists(parse_config(content, "config.yaml"))


@pytest.mark.parametrize(
    ("dataset", "subjects", "attributes"),
    [("gender", [70, 70], 70), ("nationality", [69], 50), ("ethnicity", [15], 50), ("religion", [11], 50)],
)
def test_our_lists_are_as_large_as_those_of_the_paper(
    own_lists: dict[tuple[str, str], WordLists], dataset: str, subjects: list[int], attributes: int
) -> None:
    variants = [lists for (name, _), lists in own_lists.items() if name == dataset]
    assert len(variants) == 4
    for lists in variants:
        counts = [len(part.clusters) for part in lists.subjects]
        assert len(counts) == len(subjects)
        assert all(count >= least for count, least in zip(counts, subjects, strict=True))
        assert len(lists.attributes["[p_act]"]) >= attributes


def test_our_lists_have_all_clusters(own_lists: dict[tuple[str, str], WordLists]) -> None:
    women, men = own_lists["gender", "qa"].subjects
    assert set(women.clusters) == {"female"}
    assert set(men.clusters) == {"male"}
    for dataset in ("nationality", "ethnicity", "religion"):
        rows = [row for rows in own_lists[dataset, "qa"].attributes.values() for row in rows]
        assert {row.cluster for row in rows} == {"rude", "crime", "indecent", "poor", "negative"}
    assert {row.cluster for row in own_lists["gender", "qa"].attributes["[p_act]"]} == {None}
