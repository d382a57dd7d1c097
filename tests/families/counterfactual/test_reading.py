from pathlib import Path
from typing import Any

import pytest
from small_packs import BIASES, HEADER, make_pack, pack_of, read_pack, write_pack

from biasgrid.base.faults import InputError
from biasgrid.families.counterfactual.pack import CasePackFiles

AS_UTF_8 = (
    "in Windows-1252 (ANSI) it would be in the word '\xff'; expected UTF-8 text: save the file as "
    "UTF-8 (spreadsheets call it `CSV UTF-8`)"
)
SAID = {"text": "The <group> <verb> a <food>."}
TOLD = {"text": "A <group> <verb> the <food>."}
WORDS = {"verb": "eats\nate\n", "food/fruit.txt": "mango\n", "food/meal": "bowl\n"}
BOTH = {"<one>": "gender", "<two>": "age"}


def faults_of(
    folder: Path,
    templates: Any = None,
    fillings: Any = WORDS,
    biases: Any = BIASES,
    **changes: CasePackFiles,
) -> list[str]:
    """Reads a faulty pack; returns its faults, files by their paths in the folder."""
    files = write_pack(folder, pack_of(SAID) if templates is None else templates, fillings, biases)
    with pytest.raises(InputError) as caught:
        read_pack(files)
    return [str(fault).replace(f"{folder}/", "") for fault in caught.value.faults]


def test_a_good_pack_is_read(tmp_path: Path) -> None:
    pack = make_pack(tmp_path, pack_of(SAID, TOLD | {"label": 0}), WORDS)
    assert [template.label for template in pack.templates] == [1, 0]
    assert pack.fillings == {"verb": ["eats", "ate"], "food": ["mango", "bowl"]}
    assert pack.biases == BIASES
    assert (pack.cases, pack.instances) == (2 * 2 * 2, 2 * 2 * 2 * 5)


def test_a_folder_of_templates_is_read_in_sorted_order(tmp_path: Path) -> None:
    files = {
        "b.json": pack_of({"text": "b <group>", "label": 2}),
        "a/z.json": pack_of({"text": "z <group>", "label": 0}),
        "a/.z.json": "not looked at",
        ".git/z.json": "not looked at",
        "a.json": pack_of({"text": "a <group>", "label": 1}),
    }
    pack = make_pack(tmp_path, files)
    assert [template.label for template in pack.templates] == [0, 1, 2]


def test_fillings_of_a_folder_come_from_all_files_below_it(tmp_path: Path) -> None:
    fillings = {
        "v1.0/b.c.txt": "two words \r\n\n\t three\t\r\n",
        "v1.0/a": "\ufeffone\nthree",
        "v1.0/deep/deep.txt": "four\nfour\n",
        ".hidden": "never",
        ".git/x": "never",
        "other/a": "five",
    }
    template = {"text": "<group> <a> <deep>", "x": "<other>"}
    pack = make_pack(tmp_path, pack_of(template), fillings)
    assert pack.fillings == {"a": ["five", "one", "three"], "deep": ["four"], "other": ["five"]}


def test_fillings_may_be_one_file_or_none(tmp_path: Path) -> None:
    files = write_pack(tmp_path, pack_of(SAID | {"text": "<group> <verb>"}), WORDS)
    pack = read_pack(CasePackFiles(files.templates, tmp_path / "fillings" / "verb", files.biases))
    assert pack.fillings == {"verb": ["eats", "ate"]}
    assert make_pack(tmp_path / "none", pack_of({"text": "A <group>."})).cases == 1


def test_the_digest_is_of_what_makes_the_instances(tmp_path: Path) -> None:
    digests = [
        make_pack(tmp_path / f"{number}", *parts).digest()
        for number, parts in enumerate(
            [
                (pack_of(SAID), WORDS),
                (
                    {"other.json": pack_of(SAID)},
                    WORDS | {"verb": "\neats\nate\neats", "unused": "x"},
                ),
                (pack_of(SAID), WORDS | {"verb": "ate\neats"}),
                (pack_of(SAID | {"label": 0}), WORDS),
                (pack_of(SAID | {"label": ["x"]}), WORDS),
                (pack_of(SAID), WORDS, {"gender": {"male": ["man"], "female": ["woman"]}}),
            ]
        )
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 5


@pytest.mark.parametrize(
    ("templates", "expected"),
    [
        (
            ("{\n'group_token'"),
            (
                ", line 2: not JSON (Expecting property name enclosed in double quotes, column 1); "
                "expected an object with the keys group_token, input_names, label_name, templates"
            ),
        ),
        (b'{\n"a": "\xff"', ", line 2: byte 7 is not UTF-8; " + AS_UTF_8),
        (
            "[]",
            (
                ": contains a list; expected an object with the keys group_token, input_names, "
                "label_name, templates"
            ),
        ),
        ('{"a": 1, "a": 2}', ', a: the key "a" appears twice; expected each key once'),
        (
            '{"templates": [1, {"text": "", "text": ""}]}',
            ', templates[1].text: the key "text" appears twice; expected each key once',
        ),
        (
            "[" * 100_000,
            (
                ": its lists or objects are nested too deeply; expected an object with the keys "
                "group_token, input_names, label_name, templates"
            ),
        ),
        (
            "1" * 5000,
            (
                ": contains an integer with thousands of digits; expected an object with the keys "
                "group_token, input_names, label_name, templates"
            ),
        ),
        (
            r'{"text": "The \ud83d <group>"}',
            r""": '{"text": "The \ud83d' ends with half a character; expected whole characters""",
        ),
        ({**HEADER, "templates": []}, ", templates: no templates; expected a list of templates"),
        ({**HEADER, "templates": {}}, ", templates: is an object; expected a list of templates"),
        (
            pack_of(SAID, input_names="text"),
            ', input_names: is "text"; expected a list of one or two different names',
        ),
        (
            pack_of(SAID, input_names=["a", "b", "c"]),
            ', input_names: is ["a", "b", "c"]; expected a list of one or two different names',
        ),
        (
            pack_of(SAID, input_names=["text", "text"]),
            ', input_names: is ["text", "text"]; expected a list of one or two different names',
        ),
        (
            pack_of(SAID, label_name="text"),
            ', label_name: is "text"; expected a name that no input has',
        ),
        (
            pack_of(SAID, label_name=None),
            ", label_name: is null; expected a name that no input has",
        ),
        (
            pack_of(SAID, group_token=3),
            (
                ", group_token: is 3; expected a string such as <group>, or an object such as "
                '{"<group1>": "religion", "<group2>": "gender"}'
            ),
        ),
        (
            pack_of(SAID, group_token=" "),
            (
                ', group_token: is " "; expected a string such as <group>, or an object such as '
                '{"<group1>": "religion", "<group2>": "gender"}'
            ),
        ),
        (
            pack_of(SAID, group_token={}),
            (
                ", group_token: is {}; expected a string such as <group>, or an object such as "
                '{"<group1>": "religion", "<group2>": "gender"}'
            ),
        ),
        (
            pack_of(SAID, group_token={"<group>": ["age"]}),
            ", group_token.<group>: is a list; expected the name of a bias type",
        ),
        (
            pack_of(SAID, group_token={"<group>": "gendre"}),
            (
                ", group_token.<group>: unknown bias type 'gendre' (did you mean 'gender'?); "
                "expected one of age, gender"
            ),
        ),
        (
            pack_of(SAID, group_token={"<a>": "age", "<b>": "age"}),
            ", group_token.<b>: 'age' a second time; expected a different bias type for each token",
        ),
        (
            pack_of(SAID, group_token={"WHO": "age", "WHO2": "gender"}),
            (
                ", group_token.WHO: is part of 'WHO2'; expected group tokens none of which is "
                "part of another"
            ),
        ),
        (
            {**HEADER, "templates": ["The <group>."]},
            ", templates[0]: is a string; expected an object",
        ),
        (
            pack_of(SAID, {"txet": "<group>"}),
            (
                ", templates[1]: no 'text' (did you mean 'txet'?); expected the input 'text', "
                "because input_names lists it"
            ),
        ),
        (pack_of({"text": ["<group>"]}), ", templates[0].text: is a list; expected a string"),
        (
            {**HEADER, "templates": [{"text": "<group>", "lable": 1}]},
            (
                ", templates[0]: no 'label' (did you mean 'lable'?); expected the label 'label', "
                "because label_name names it"
            ),
        ),
        (
            pack_of(SAID | {"label": True}),
            (
                ", templates[0].label: is true; expected a class (an integer from 0), a list of "
                "target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID | {"label": -1}),
            (
                ", templates[0].label: is -1; expected a class (an integer from 0), a list of "
                "target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID | {"label": 40000}),
            (
                ", templates[0].label: is 40000; expected a class (an integer from 0), a list of "
                "target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID | {"label": 0.5}),
            (
                ", templates[0].label: is 0.5; expected a class (an integer from 0), a list of "
                "target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID | {"label": []}),
            (
                ", templates[0].label: is []; expected a class (an integer from 0), a list of "
                "target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID | {"label": ["ok", 1]}),
            (
                ', templates[0].label: is ["ok", 1]; expected a class (an integer from 0), a list '
                "of target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID | {"label": " "}),
            (
                ', templates[0].label: is " "; expected a class (an integer from 0), a list of '
                "target words, or an answer (a string)"
            ),
        ),
        (
            pack_of(SAID, TOLD | {"label": "a <food:1>"}),
            (
                ", templates[1]: its label is an answer, that of templates[0] in templates.json is "
                "a class; expected the same kind of label in all templates"
            ),
        ),
        (
            pack_of(SAID, SAID),
            (
                ", templates[1]: has the same inputs as templates[0] in templates.json; expected "
                "each template once"
            ),
        ),
        (
            pack_of(SAID, {"text": "The <group:1> <verb:1> a <food>.", "label": 0}),
            (
                ", templates[1]: has the same inputs as templates[0] in templates.json; expected "
                "each template once"
            ),
        ),
        (
            pack_of(SAID, TOLD | {"label": ["x"]}),
            (
                ", templates[1]: its label is a list of target words, that of templates[0] in "
                "templates.json is a class; expected the same kind of label in all templates"
            ),
        ),
        (
            pack_of({"text": "The <group> <eats>."}),
            (
                ", templates[0].text: nothing fills <eats>; expected one of <food>, <fruit>, "
                "<group>, <meal>, <verb>"
            ),
        ),
        (
            pack_of({"text": "The <group> <verbs:2>."}),
            (
                ", templates[0].text: nothing fills <verbs> (did you mean 'verb'?); expected one "
                "of <food>, <fruit>, <group>, <meal>, <verb>"
            ),
        ),
        (
            pack_of({"text": "The <group> is <mask>."}),
            (
                ", templates[0].text: nothing fills <mask>; the mask is written [MASK]; expected "
                "one of <food>, <fruit>, <group>, <meal>, <verb>"
            ),
        ),
        (
            pack_of({"text": "<group>", "note": "<group2>"}),
            (
                ", templates[0].note: nothing fills <group2> (did you mean 'group'?); expected one "
                "of <food>, <fruit>, <group>, <meal>, <verb>"
            ),
        ),
        (
            pack_of({"text": "<group> <fo-od>"}),
            (
                ", templates[0].text: <fo-od> is not a placeholder (did you mean 'food'?); "
                "expected placeholders such as <x> and <x:2>, with letters, digits and _ "
                "in the name"
            ),
        ),
        (
            pack_of({"text": "<group> <food:a>"}),
            (
                ", templates[0].text: <food:a> is not a placeholder; expected placeholders such as "
                "<x> and <x:2>, with letters, digits and _ in the name"
            ),
        ),
        (
            pack_of({"text": "They <verb> a <food>."}),
            ", templates[0]: no group token in its inputs; expected one of <group>",
        ),
        (
            pack_of({"text": "<one>", "label": "<two>"}, group_token=BOTH),
            (
                ", templates[0]: no <two> in its inputs, but one in 'label'; expected each group "
                "token of the label in an input as well"
            ),
        ),
        (
            pack_of({"text": "<group>" + "<food><verb>" * 16}),
            ": 21,474,836,480 instances; expected at most 4,294,967,295: use fewer placeholders",
        ),
    ],
)
def test_faults_of_templates(tmp_path: Path, templates: Any, expected: str) -> None:
    assert faults_of(tmp_path, templates) == [f"templates.json{expected}"]


def test_group_tokens_come_into_an_answer_with_its_fillings_too(tmp_path: Path) -> None:
    templates = pack_of({"text": "<one>", "label": "is <verb>"}, group_token=BOTH)
    assert faults_of(tmp_path, templates, {"verb": "of <two>"}) == [
        (
            "templates.json, templates[0]: no <two> in its inputs, but one in 'label'; expected "
            "each group token of the label in an input as well"
        )
    ]


def test_unknown_and_missing_keys_name_the_nearest(tmp_path: Path) -> None:
    content = pack_of(SAID)
    content["input_name"] = content.pop("input_names")
    assert faults_of(tmp_path, content) == [
        (
            "templates.json, input_name: unknown key (did you mean 'input_names'?); expected one "
            "of group_token, input_names, label_name, templates"
        ),
        (
            "templates.json, input_names: missing key; expected the names of a template's inputs, "
            "in the order in which a model reads them"
        ),
    ]
    missing = faults_of(tmp_path, {})
    assert [line.split(":")[0] for line in missing] == [
        f"templates.json, {key}" for key in (*HEADER, "templates")
    ]


def test_files_of_a_folder_agree(tmp_path: Path) -> None:
    other = {"group_token": "[WHO]", "input_names": ["words"], "label_name": "gold"}
    files = {"a.json": pack_of(SAID), "b.json": pack_of({"words": "[WHO]", "gold": ["x"]}, **other)}
    assert faults_of(tmp_path, files) == [
        *(
            (
                f"templates/b.json, {key}: not what templates/a.json has; expected the same {key} "
                "in all files of the folder"
            )
            for key in other
        ),
        (
            "templates/b.json, templates[0]: its label is a list of target words, that of "
            "templates[0] in templates/a.json is a class; expected the same kind of label "
            "in all templates"
        ),
    ]


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError) as caught:
        read_pack(CasePackFiles(tmp_path / "empty", tmp_path / "nowhere", tmp_path / "no.json"))
    assert [str(fault).replace(f"{tmp_path}/", "") for fault in caught.value.faults] == [
        (
            "no.json: cannot be read (No such file or directory); expected an object of bias "
            "types: {bias type: {group: [identity term, ...]}}"
        ),
        (
            "nowhere: cannot be read (No such file or directory); expected a file with one "
            "filling per line, or a folder of such files"
        ),
        (
            "empty: this folder contains no template file; expected at least one file whose name "
            "ends in .json"
        ),
    ]


@pytest.mark.parametrize(
    ("fillings", "expected"),
    [
        (
            {"food": b"mango\na \xff\n"},
            "fillings/food, line 2: byte 3 is not UTF-8; " + AS_UTF_8,
        ),
        (
            {"food/fruit.txt": "\n", "food/meal": ""},
            (
                "templates.json, templates[0].text: no fillings for <food>: its files are empty; "
                "expected one filling per line"
            ),
        ),
        (
            {"food/meal": ("bowl\n\na <verb:1> bowl")},
            (
                "fillings/food/meal, line 3: 'a <verb:1> bowl' contains a placeholder that nothing "
                "fills; expected a text with no placeholder other than a group token"
            ),
        ),
    ],
)
def test_faults_of_fillings(tmp_path: Path, fillings: Any, expected: str) -> None:
    assert faults_of(tmp_path, fillings={"verb": "eats", **fillings}) == [expected]


def test_a_filling_of_two_tokens_has_its_fault_once(tmp_path: Path) -> None:
    templates = pack_of({"text": "<group> <food> <meal>"})
    assert len(faults_of(tmp_path, templates, {"food/meal": "<x>"})) == 1


@pytest.mark.parametrize(
    ("biases", "expected"),
    [
        (
            ("{\n\n}}"),
            (
                ", line 3: not JSON (Extra data, column 2); expected an object of bias types: "
                "{bias type: {group: [identity term, ...]}}"
            ),
        ),
        (
            [],
            (
                ": contains a list; expected an object of bias types: {bias type: {group: "
                "[identity term, ...]}}"
            ),
        ),
        ({}, ": no bias types; expected at least one bias type"),
        (
            '{"age": {"old": ["a"], "old": ["b"]}}',
            ', age.old: the key "old" appears twice; expected each key once',
        ),
        ({"age": ["kid"]}, ", age: is a list; expected an object: {group: [identity term, ...]}"),
        ({"age": {}}, ", age: 0 groups; expected at least two groups to compare"),
        ({"age": {"old": ["elder"]}}, ", age: 1 group; expected at least two groups to compare"),
        (
            {"age": {"old": "elder", "young": ["kid"]}},
            ", age.old: is a string; expected a list of identity terms",
        ),
        (
            {"age": {"old": [], "young": ["kid"]}},
            ", age.old: no identity terms; expected at least one identity term",
        ),
        (
            {"age": {"old": ["elder", 70], "young": ["kid"]}},
            ", age.old[1]: is an integer; expected an identity term",
        ),
        (
            {"": BIASES["age"]},
            (
                ': the bias type "" is blank; expected words with one space between them, and none '
                "before or after"
            ),
        ),
        (
            {"age ": BIASES["age"]},
            (
                ': the bias type "age " begins or ends with white space; expected words with one '
                "space between them, and none before or after"
            ),
        ),
        (
            {"age": {"old": ["elder"], "\t": ["kid"]}},
            (
                r', age: the group "\t" is blank; expected words with one space between them, and '
                r"none before or after"
            ),
        ),
        (
            {"age": {"old": ["elder"], "very  young": ["kid"]}},
            (
                ", age: the group \"very  young\" has white space in 'very  young'; expected words "
                "with one space between them, and none before or after"
            ),
        ),
        (
            {"age": {"old": ["elder", " "], "young": ["kid"]}},
            (
                ', age.old[1]: the term " " is blank; expected words with one space between them, '
                "and none before or after"
            ),
        ),
        (
            {"age": {"old": ["elder", " elder"], "young": ["kid"]}},
            (
                ', age.old[1]: the term " elder" begins or ends with white space; expected words '
                "with one space between them, and none before or after"
            ),
        ),
        (
            {"age": {"old": ["an old\xa0man"], "young": ["kid"]}},
            (
                ", age.old[0]: the term \"an old\xa0man\" has white space in 'old\\xa0man'; "
                "expected words with one space between them, and none before or after"
            ),
        ),
        (
            {"age & looks": BIASES["age"]},
            (
                ': the bias type "age & looks" contains & as a word; expected no & as a word: \' '
                "& ' joins the parts of an intersection"
            ),
        ),
        (
            {"age": {"old & wise": ["elder"], "young": ["kid"]}},
            (
                ', age: the group "old & wise" contains & as a word; expected no & as a word: \' '
                "& ' joins the parts of an intersection"
            ),
        ),
        (
            {"age": {"old": ["elder &"], "young": ["kid"]}},
            (
                ', age.old[0]: the term "elder &" contains & as a word; expected no & as a word: \' & '
                "' joins the parts of an intersection"
            ),
        ),
        (
            {"age": {"old": ["[MASK]"], "young": ["kid"]}},
            ', age.old[0]: "[MASK]" contains a mask; expected an identity term',
        ),
        (
            {"age": {"old": ["<food>"], "young": ["kid"]}},
            (
                ', age.old[0]: "<food>" contains a placeholder that nothing fills; expected an '
                "identity term"
            ),
        ),
        (
            {"age": {"old": ["elder", "elder"], "young": ["kid"]}},
            ', age.old: "elder" appears 2 times; expected each term once in a group',
        ),
    ],
)
def test_faults_of_biases(tmp_path: Path, biases: Any, expected: str) -> None:
    assert faults_of(tmp_path, biases=biases) == [f"biases.json{expected}"]


def test_a_name_may_hold_the_sign_in_a_word(tmp_path: Path) -> None:
    biases = {"music": {"R&B": ["R&B singer"], "rock": ["rock singer"]}}
    assert make_pack(tmp_path, pack_of({"text": "The <group>"}), biases=biases).biases == biases


def test_terms_hold_no_group_token(tmp_path: Path) -> None:
    """Which would be filled with a term too."""
    biases = {"faith": {"a": ["GG x"], "b": ["q"]}, "age": {"c": ["w"], "d": ["FF"]}}
    templates = pack_of({"text": "It is <who>."}, group_token={"FF": "faith", "GG": "age"})
    assert faults_of(tmp_path, templates, {"who": "FF and GG"}, biases) == [
        (
            'biases.json, faith.a: the term "GG x" contains the group token GG; expected terms '
            "without group tokens"
        ),
        (
            'biases.json, age.d: the term "FF" contains the group token FF; expected terms '
            "without group tokens"
        ),
    ]


def test_a_dataset_without_fillings_is_reported(tmp_path: Path) -> None:
    templates = pack_of({"text": "The <group> <verb>."}, {"text": "The <grup>."})
    assert faults_of(tmp_path, templates, None) == [
        (
            "templates.json, templates[0].text: nothing fills <verb>; the dataset names no "
            "`fillings`; expected one of <group>"
        ),
        (
            "templates.json, templates[1].text: nothing fills <grup> (did you mean 'group'?); "
            "expected one of <group>"
        ),
    ]


def test_templates_of_several_files_differ(tmp_path: Path) -> None:
    assert faults_of(tmp_path, {"a.json": pack_of(TOLD, SAID), "b.json": pack_of(SAID)}) == [
        (
            "templates/b.json, templates[0]: has the same inputs as templates[1] in "
            "templates/a.json; expected each template once"
        )
    ]


def test_fillings_that_differ_in_the_number_of_a_group_token_are_one(tmp_path: Path) -> None:
    pack = make_pack(
        tmp_path,
        pack_of({"text": "It is <who>."}),
        {"who": "the <group>\nthe <group:1>\na <group:2>\n"},
    )
    assert pack.fillings == {"who": ["the <group>", "a <group>"]}


def test_all_faults_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    templates = pack_of({"text": "<gruop>"}, SAID, {"text": "<group> <food>", "label": None})
    faults = faults_of(tmp_path, templates, {**WORDS, "food/meal": "<x>"}, {"age": {"old": []}})
    assert [fault.split(":")[0] for fault in faults] == [
        "biases.json, age",
        "biases.json, age.old",
        "templates.json, templates[0].text",
        "templates.json, templates[2].label",
        "fillings/food/meal, line 1",
    ]
