"""What is wrong with word lists, line by line."""

from pathlib import Path

import pytest
from small_lists import BOTH_FORMS, LISTS, MASKED, read

FAULTS: dict[str, tuple[dict[str, str | bytes], list[str]]] = {
    "columns of different lengths": (
        {"subjects": BOTH_FORMS.removesuffix("[subj:dem] Malian\n")},
        [
            (
                "subjects.txt, line 3: columns of different lengths: [subj] 2, [subj:dem] 1; "
                "expected as many [subj:dem] lines as other lines (the last one is line 3)"
            )
        ],
    ),
    "attributes of unequal length": (
        {"attributes": LISTS["attributes"] + "[p_act] food | lies\n"},
        [
            (
                "attributes.txt, line 2: columns of different lengths: [p_act] 2, [p_act:neg] 1; "
                "expected as many [p_act:neg] lines as other lines (the last one is line 2)"
            )
        ],
    ),
    "a placeholder that nothing fills": (
        {"templates": LISTS["templates"].replace("[p_act]", "[p_atc]")},
        [
            (
                "templates.txt, line 1: nothing fills [p_atc] (did you mean '[p_act]'?); expected "
                "one of [mask], [p_act:neg], [p_act], [subj1], [subj2]"
            )
        ],
    ),
    "a form that the subjects do not have": (
        {"templates": "[subj1:dem] met [subj2:dem].\tWho [p_act]?\tWho [p_act:neg]?\n"},
        [
            (
                f"templates.txt, line 1: nothing fills [subj{which}:dem] (did you mean "
                f"'[subj{which}]'?); expected one of [mask], [p_act:neg], "
                "[p_act], [subj1], [subj2]"
            )
            for which in (1, 2)
        ],
    ),
    "a second bar": (
        {"subjects": LISTS["subjects"] + "[subj] x | y | Eve\n"},
        [
            (
                "subjects.txt, line 3: 'Eve' is no frequency; expected a number above 0: group | "
                "term | frequency"
            )
        ],
    ),
    "a missing tab": (
        {
            "templates": "# one\n"
            + LISTS["templates"].replace("\tWho [p_act:neg]", " Who [p_act:neg]")
        },
        [
            (
                "templates.txt, line 2: 2 tab-separated fields; expected 3: context, question and "
                "negated question"
            )
        ],
    ),
    "a subject twice": (
        {"subjects": LISTS["subjects"] + "\n[subj] male | Ann\n"},
        ["subjects.txt, line 4: subject 'Ann' is already in line 1; expected each subject once"],
    ),
    "a subject in both lists": (
        {"others": "[subj] Eve\n[subj] Bob\n"},
        ["others.txt: subject 'Bob' is already in subjects.txt; expected each subject once"],
    ),
    "an attribute twice": (
        {"attributes": LISTS["attributes"] * 2},
        [
            (
                "attributes.txt, line 3: attribute 'cooks' is already in line 1; expected each "
                "attribute once"
            )
        ],
    ),
    "an attribute without its negation": (
        {"attributes": "[p_act] cooks\n"},
        [
            (
                "attributes.txt, line 1: [p_act] has no [p_act:neg] lines; expected each "
                "attribute with its negation"
            )
        ],
    ),
    "an attribute without its base type": (
        {
            "attributes": LISTS["attributes"]
            + "[l_act-single] burns\n[l_act-single:neg] never burns\n"
        },
        [
            (
                "attributes.txt, line 3: [l_act-single] has no base type; expected [l_act] lines "
                "that name the attributes"
            ),
        ],
    ),
    "bytes that are not UTF-8": (
        {"subjects": b"[subj] Ann\n[subj] Zo\xeb\n[subj] Bob\n"},
        [
            "subjects.txt, line 2: byte 10 is not UTF-8; in Windows-1252 (ANSI) it would be in the "
            "word 'Zo\xeb'; expected UTF-8 text: save the file as UTF-8 (spreadsheets call it `CSV "
            "UTF-8`)"
        ],
    ),
    "no head": (
        {"subjects": LISTS["subjects"] + "Eve\n"},
        [
            "subjects.txt, line 3: begins with 'Eve'; expected a head such as [subj] and a space, "
            "as in `[subj] Eve`"
        ],
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
        [
            (
                "templates.txt, line 1: [subj2] appears 0 times in the context; expected each "
                "subject once in the context"
            )
        ],
    ),
    "a subject twice in the context": (
        {"templates": LISTS["templates"].replace("[subj2]", "[subj2] and [subj1]")},
        [
            (
                "templates.txt, line 1: [subj1] appears 2 times in the context; expected each "
                "subject once in the context"
            )
        ],
    ),
    "a question without the attribute": (
        {"templates": LISTS["templates"].replace("Who [p_act]?", "Who is it?")},
        ["templates.txt, line 1: the question has no attribute; expected [p_act] there"],
    ),
    "a subject in two forms": (
        {
            "subjects": BOTH_FORMS,
            "templates": LISTS["templates"].replace("Who [p_act]", "Who, [subj1:dem], [p_act]"),
        },
        [
            (
                "templates.txt, line 1: subject 1 has several forms: [subj1:dem], [subj1]; "
                "expected the same form of a subject throughout a template"
            )
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
            (
                f"templates.txt, line 1: nothing fills {head} (did you mean '[p_act:neg]'?); "
                "expected one of [mask], [p_act:neg], [p_act], [subj1], [subj2]"
            )
            for head in ("[p_act-single]", "[p_act-single:neg]")
        ]
        + [
            (
                "templates.txt, line 1: 0 attribute types (none); expected exactly one attribute "
                "type per template"
            )
        ],
    ),
    "a template twice": (
        {"templates": LISTS["templates"] + "# again\n" + LISTS["templates"]},
        ["templates.txt, line 3: the template is already in line 1; expected each template once"],
    ),
    "subjects outside the slots": (
        {"templates": LISTS["templates"].replace("sat by", "left Bob and sat in Annapolis by")},
        [
            (
                "templates.txt, line 1: the context has 'Ann', 'Bob' outside the slots; expected "
                "no subject of the lists outside the slots, not even inside a longer word"
            )
        ],
    ),
    "a subject's other form outside the slots": (
        {
            "subjects": BOTH_FORMS,
            "templates": LISTS["templates"].replace("sat", "took Malian coffee"),
        },
        [
            (
                "templates.txt, line 1: the context has 'Mali', 'Malian' outside the slots; "
                "expected no subject of the lists outside the slots, not even inside a longer word"
            )
        ],
    ),
    "two spaces in a template": (
        {"templates": LISTS["templates"].replace("sat by", "sat  by")},
        [
            (
                "templates.txt, line 1: white space in 'sat  by' in the context; expected a "
                "single space between words"
            )
        ],
    ),
    "two spaces in a term": (
        {
            "subjects": LISTS["subjects"].replace("Ann", "Ann  Lee"),
            "attributes": LISTS["attributes"]
            + "[p_act] food | is \u00a0it\n[p_act:neg] food | is it\n",
        },
        [
            (
                "subjects.txt, line 1: white space in 'Ann  Lee'; expected a single "
                "space between words"
            ),
            (
                "attributes.txt, line 3: white space in 'is \\xa0it'; expected a single space "
                "between words"
            ),
        ],
    ),
    "a full stop": (
        {"attributes": LISTS["attributes"].replace("cooks", "cooks.", 1)},
        [
            (
                "attributes.txt, line 1: 'cooks.' ends with a full stop; expected a phrase "
                "without it, because the templates end the sentence"
            )
        ],
    ),
    "a missing bar": (
        {"subjects": LISTS["subjects"] + "[subj] male Carl\n"},
        [
            (
                "subjects.txt, line 3: no group, unlike other [subj] lines; expected a group and "
                "'|' in all [subj] lines or in none"
            )
        ],
    ),
    "a bar too many": (
        {
            "attributes": (
                "[p_act] cooks\n"
                "[p_act] sings\n"
                "[p_act] sound | hums\n"
                "[p_act:neg] a\n"
                "[p_act:neg] b\n"
                "[p_act:neg] c\n"
            )
        },
        [
            (
                "attributes.txt, line 3: a group, unlike other [p_act] lines; expected a group "
                "and '|' in all [p_act] lines or in none"
            )
        ],
    ),
    "placeholders in terms": (
        {
            "subjects": LISTS["subjects"] + "[subj] male | An[x]n [y]\n",
            "attributes": LISTS["attributes"]
            + "[p_act] food | was a [jbo]\n[p_act:neg] food | was no [mask]\n",
        },
        [
            (
                "subjects.txt, line 3: placeholder [x] in 'An[x]n [y]'; expected only words, "
                "because nothing fills placeholders there"
            ),
            (
                "subjects.txt, line 3: placeholder [y] in 'An[x]n [y]'; expected only words, "
                "because nothing fills placeholders there"
            ),
            (
                "attributes.txt, line 3: placeholder [jbo] in 'was a [jbo]'; expected only words, "
                "because nothing fills placeholders there"
            ),
            (
                "attributes.txt, line 4: placeholder [mask] in 'was no [mask]'; expected only "
                "words, because nothing fills placeholders there"
            ),
        ],
    ),
    "a negation that negates nothing": (
        {
            "attributes": LISTS["attributes"]
            + "[p_act] food | lies\n# twice\n[p_act:neg] food | lies\n"
        },
        [
            (
                "attributes.txt, line 5: 'lies' is also the [p_act] of line 3; expected its "
                "negation, because otherwise both questions would be the same"
            )
        ],
    ),
    "a negation of a singular that negates nothing": (
        {"attributes": LISTS["attributes"] + "[p_act-single] cooks\n[p_act-single:neg] cooks\n"},
        [
            (
                "attributes.txt, line 4: 'cooks' is also the [p_act-single] of line 3; expected "
                "its negation, because otherwise both questions would be the same"
            )
        ],
    ),
    "one subject": (
        {"subjects": "[subj] Ann\n"},
        [
            (
                "subjects.txt, line 1: contains only one subject; expected at least 2 "
                "subjects to compare"
            )
        ],
    ),
    "two attribute types": (
        {
            "attributes": LISTS["attributes"] + "[l_act] burns\n[l_act:neg] never burns\n",
            "templates": LISTS["templates"].replace("[p_act:neg]", "[l_act:neg]"),
        },
        [
            (
                "templates.txt, line 1: 2 attribute types ([p_act], [l_act]); expected exactly "
                "one attribute type per template"
            ),
        ],
    ),
    "a mask in a question": (
        {"templates": MASKED},
        [
            (
                "templates.txt, line 1: [mask] in a template for question answering; expected a "
                "template without [mask]"
            )
        ],
    ),
    "an empty file": (
        {"subjects": " \n"},
        ["subjects.txt: the file is empty; expected one item per line"],
    ),
    "only comments": (
        {"templates": "# none yet\n"},
        ["templates.txt: only comments; expected one item per line"],
    ),
    "two fillers": ({"filler": "yes\nno\n"}, ["filler.txt: 2 lines; expected exactly one line"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_names_file_line_problem_and_what_was_expected(tmp_path: Path, name: str) -> None:
    contents, expected = FAULTS[name]
    assert read(tmp_path, None, **contents)[1] == expected
