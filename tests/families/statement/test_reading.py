"""Our own reader: what it adds to APES, and what it refuses with file and line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_statements import DOMAINS, HEADER, TEMPLATES, faults_of, files_of, instances_of, pack_of
from small_tables import whole

from biasgrid.families.sampling import Sample
from biasgrid.families.statement.ask import expand
from biasgrid.families.statement.read import read
from biasgrid.tables.keys import request_keys


def texts_with(folder: Path, constraint: str) -> list[str]:
    """The values that go together, without the rest of the text."""
    template = f'a,#1 + #2,people,people,"{constraint}",No,\n'
    return [
        text.removesuffix(" Yes or No?")
        for text in instances_of(folder, templates=HEADER + template)["text"]
    ]


@pytest.mark.parametrize(
    ("constraint", "kept"),
    [
        ("eq(#1, #2)", ["Elves + Elves", "Pixies + Pixies", "Trolls + Trolls"]),
        ("eq(#1_class, #2_class) | neq(#1, #2)", ["Elves + Pixies", "Pixies + Elves"]),
        (
            "neq(#1_class,#2_class)",
            ["Elves + Trolls", "Pixies + Trolls", "Trolls + Elves", "Trolls + Pixies"],
        ),
        ("eq(#1, {Elves, Trolls}) | eq(#2_class, {troll})", ["Elves + Trolls", "Trolls + Trolls"]),
        ("neq(#1_class, {elf}) | eq(#1_name, #2_name)", ["Trolls + Trolls"]),
        (
            "eq(#1, {Elves}) or eq(#2, {Elves}) | neq(#1, #2) | neq(#2_class, {troll})",
            ["Elves + Pixies", "Pixies + Elves", "Trolls + Elves"],
        ),
    ],
)
def test_constraints_say_which_values_go_together(
    constraint: str, kept: list[str], tmp_path: Path
) -> None:
    assert texts_with(tmp_path, constraint) == kept


def test_negations_follow_their_statements(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    assert instances["text"].to_list()[:3] == [
        "Elves are calmer than Pixies. Yes or No?",
        "Elves are not calmer than Pixies. Yes or No?",
        "Elves are calmer than Trolls. Yes or No?",
    ]
    assert instances["pair"].to_list() == [place // 2 for place in range(24)]
    assert instances["negated"].to_list() == [False, True] * 12
    assert instances["label"].to_list() == ["No", "Yes"] * 12
    assert instances["template_id"].unique(maintain_order=True).to_list() == [
        "calm",
        "not-calm",
        "kind",
        "not-kind",
    ]
    assert instances.select("domains", "names", "classes").row(12) == (
        ["people", "traits"],
        ["Elves", "kind"],
        ["elf", "good"],
    )
    assert instances.select("candidate1", "candidate2").unique().rows() == [("Yes", "No")]


def test_ten_parameters_are_distinguished(tmp_path: Path) -> None:
    header = "template_id,template_text,param_1,param_10,constraints,label\n"
    instances = instances_of(tmp_path, templates=header + "a,#10 met #1.,people,traits,,No\n")
    assert instances["text"][1] == "mean met Elves. Yes or No?"


def test_statements_with_the_text_of_an_earlier_one_are_left_out(tmp_path: Path) -> None:
    again = "again,#1 are kind.,people,,,No,\n"
    instances = instances_of(tmp_path, templates=TEMPLATES + again)
    assert len(instances) == 24
    assert instances["text"].is_unique().all()
    assert (
        len(instances_of(tmp_path, templates=TEMPLATES + "more,#1 were kind.,people,,,No,\n")) == 27
    )


def test_a_statement_is_left_out_with_its_negation(tmp_path: Path) -> None:
    pair = "again,#1 were kind.,people,,,Yes,\nnot-again,#1 are not kind.,people,,,No,again\n"
    assert instances_of(tmp_path, templates=TEMPLATES + pair)["template"].max() == 3


def test_a_repetition_is_an_instance_of_its_own(tmp_path: Path) -> None:
    once, thrice = (instances_of(tmp_path, repetitions=count) for count in (1, 3))
    assert thrice["repetition"].to_list() == [0, 1, 2] * 24
    assert request_keys(thrice.filter(repetition=0)).to_list() == request_keys(once).to_list()
    assert request_keys(thrice).is_unique().all()
    assert thrice["pair"].to_list() == [place // 6 for place in range(72)]


def test_instances_do_not_depend_on_how_many_are_in_memory(tmp_path: Path) -> None:
    pack = pack_of(tmp_path, repetitions=2)
    assert whole(expand(pack, rows=7)).equals(whole(expand(pack)))


@pytest.mark.parametrize("mode", [None, "apes"])
def test_samples_are_whole_nested_and_balanced(tmp_path: Path, mode: str | None) -> None:
    halves = TEMPLATES.splitlines(keepends=True)
    templates = (
        "".join([halves[0], halves[1], halves[3], halves[2], halves[4]]) if mode else TEMPLATES
    )
    every = instances_of(tmp_path, templates=templates, mode=mode)
    smaller: set[int] = set()
    for units in range(1, 13):
        some = instances_of(
            tmp_path, templates=templates, mode=mode, sample=Sample(units=units, seed=3)
        )
        assert some["pair"].n_unique() == units
        assert len(some) == 2 * units
        assert smaller <= set(request_keys(some)) <= set(request_keys(every))
        of_template = some.filter(negated=False)["template_id"].value_counts()["count"]
        assert of_template.max() - of_template.min() <= 1 if len(of_template) == 2 else units == 1  # type: ignore[operator]
        smaller = set(request_keys(some))


def test_what_is_asked_decides_the_digest(tmp_path: Path) -> None:
    digests = [
        pack_of(tmp_path, **options).digest()
        for options in (
            {},
            {"repetitions": 2},
            {"prompt": "{statement}"},
            {"sample": Sample(units=3)},
        )
    ]
    assert len(set(digests)) == 4
    assert pack_of(tmp_path / "elsewhere").digest() == digests[0]
    assert pack_of(tmp_path, domains=DOMAINS | {"unused": "a,b\n"}).digest() == digests[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"neq(#1, #2)",No',
            '"new(#1, #2)",No',
            "line 2: unknown function 'new' (did you mean 'neq'?); expected one of eq, neq",
        ),
        ('"neq(#1, #2)",No', '"neq(#1)",No', "line 2: 'neq(#1)' has 1 argument; expected two"),
        (
            '"neq(#1, #2)",No',
            '"neq(#1, #3)",No',
            "line 2: '#3', but the template has no parameter 3; expected one of 1, 2",
        ),
        (
            '"neq(#1, #2)",No',
            '"neq(#1, #2_label)",No',
            (
                "line 2: the argument '#2_label' cannot be read; expected #1 or #1_name, #1_class, "
                "or a second one {a, b}"
            ),
        ),
        (
            '"neq(#1, #2)",No',
            '"neq(#1, #2",No',
            (
                "line 2: the constraint 'neq(#1, #2' cannot be read; expected tests such as "
                "neq(#1, #2_class), with `or` or `|` between them"
            ),
        ),
        (
            '"neq(#1, #2)",No',
            '"eq(#1, {a,,b})",No',
            (
                "line 2: the set '{a,,b}' cannot be read; expected words separated by commas, such "
                "as {old, young}"
            ),
        ),
        (
            '"neq(#1, #2)",No',
            '"eq(#1, {Elve, Trolls})",No',
            (
                "line 2: 'Elve' in a constraint (did you mean 'Elves'?), which no value of "
                "parameter 1 is; expected one of Elves, Pixies, Trolls"
            ),
        ),
        (
            "people,traits,,No",
            'people,traits,"neq(#1, #2)",No',
            (
                "line 4: a constraint compares the parameters 1 and 2, which are never equal; "
                "expected different parameters, or no constraint"
            ),
        ),
        (
            "people,traits,,No",
            "poeple,traits,,No",
            (
                "line 4: param_1 is 'poeple' (did you mean 'people'?); expected a domain: one of "
                "people, traits"
            ),
        ),
        (
            ",Yes,calm",
            ",No,calm",
            (
                "line 3: has the label 'No', like 'calm', which it negates; expected "
                "labels that differ"
            ),
        ),
        (
            ",Yes,calm",
            ",Yes,clam",
            (
                "line 3: negation_of is 'clam' (did you mean 'calm'?); expected a different "
                "template: one of calm, kind, not-kind"
            ),
        ),
        (
            ",Yes,kind",
            ",Yes,calm",
            "line 5: is a second negation of 'calm'; expected only one negation per template",
        ),
        (
            '"neq(#1, #2)",Yes',
            ",Yes",
            (
                "line 3: has other parameters or constraints than 'calm', which it negates; "
                "expected the same ones"
            ),
        ),
        ("#1 are not kind", "#1 are kind", None),
        (
            "#1 are not calmer than #2.",
            "#1 are calmer than #2.",
            "line 3: has the same text as 'calm', which it negates; expected a different text",
        ),
        (",,No,\n", ",,no,\n", "line 4: label is 'no'; expected Yes or No"),
        (
            "kind,#1 are #2",
            "kind,#1 are #3",
            "line 4: template_text has #3; expected a domain in param_3",
        ),
        (
            "kind,#1 are #2",
            "kind,#1 are kind",
            "line 4: param_2 is not in template_text; expected #2 there, or an empty cell",
        ),
        (
            "kind,#1 are #2",
            "kind,#1  are #2",
            (
                "line 4: template_text has white space in '#1  are'; expected words with one space "
                "between them, and none before or after"
            ),
        ),
        (
            "not-kind,",
            "calm,",
            (
                "line 5: template_id 'calm' is in line 2 already; expected a different name "
                "for every template"
            ),
        ),
        ("not-kind,", "\nnot-kind,", "line 5: is blank; expected a template"),
        (",Yes,kind", ",Yes,kind,", "line 5: 8 fields; expected 7, as in the first line"),
        (
            "constraints,label",
            "label",
            (
                "line 1: there is no column constraints; expected templates: a CSV file with the "
                "columns template_id, template_text, param_1, ..., constraints and label"
            ),
        ),
        (
            "negation_of",
            "negates",
            (
                "line 1: unknown column 'negates'; expected one of constraints, label, "
                "negation_of, param_1, reason, template_id, template_text"
            ),
        ),
        (
            "param_2",
            "param_1",
            "line 1: the column 'param_1' appears twice; expected each column once",
        ),
    ],
)
def test_faulty_templates_are_refused(
    old: str, new: str, message: str | None, tmp_path: Path
) -> None:
    assert (old in TEMPLATES) == (message is not None)
    found = faults_of(tmp_path, templates=TEMPLATES.replace(old, new, 1))
    assert message is None or f"templates.csv, {message}" in found


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        (
            "kind\n",
            [
                (
                    "domains/traits.txt, line 1: 'kind' has no class; expected a value and its "
                    "class, with a comma between them"
                )
            ],
        ),
        (
            "kind,good,really\n",
            [
                (
                    "domains/traits.txt, line 1: 3 fields; expected a value and its class, with a "
                    "comma between them"
                )
            ],
        ),
        (
            ("kind,good\nkind,bad\n"),
            ["domains/traits.txt, line 2: 'kind' appears twice; expected each value once"],
        ),
        (
            "no#1,good\n",
            [
                (
                    "domains/traits.txt, line 1: 'no#1' contains #, which marks parameters; expected "
                    "a value without it"
                )
            ],
        ),
        (
            ",good\n",
            [
                (
                    "domains/traits.txt, line 1: '' is blank; expected words with one space "
                    "between them, and none before or after"
                )
            ],
        ),
        ("", ["templates.csv, line 4: the domain 'traits' is empty; expected values in its file"]),
    ],
)
def test_faulty_domains_are_refused(lines: str, messages: list[str], tmp_path: Path) -> None:
    found = faults_of(tmp_path, domains=DOMAINS | {"traits": lines})
    assert [message for message in found if message in messages] == messages


def test_blank_lines_and_comments_of_domains_are_ignored_but_by_apes(tmp_path: Path) -> None:
    traits = DOMAINS | {"traits": "# People are:\n\nkind,good\n  \nmean\n"}
    form = "expected a value and its class, with a comma between them"
    no_class = f"domains/traits.txt, line 5: 'mean' has no class; {form}"
    assert faults_of(tmp_path / "own", domains=traits) == [no_class]
    assert faults_of(tmp_path / "apes", domains=traits, mode="apes") == [
        f"domains/traits.txt, line 1: '# People are:' has no class; {form}",
        *(f"domains/traits.txt, line {line}: is blank; {form}" for line in (2, 4)),
        no_class,
    ]


def test_constraints_that_leave_nothing_are_refused(tmp_path: Path) -> None:
    found = faults_of(
        tmp_path, templates=TEMPLATES.replace("neq(#1, #2)", "neq(#1, #2) | eq(#1, #2)")
    )
    expected = "its constraint leaves no values; expected values that satisfy the constraint"
    assert found == [f"templates.csv, line {line}: {expected}" for line in (2, 3)]


def test_two_files_of_a_domain_are_refused(tmp_path: Path) -> None:
    found = faults_of(tmp_path, domains=DOMAINS | {"traits.csv": "kind,good\n"})
    assert found == [
        "domains/traits.txt: is a second file for the domain 'traits'; expected one file per domain"
    ]


def test_files_that_are_not_there_are_reported(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    files.templates.unlink()
    problems = [fault.problem for fault in read(replace(files, domains=tmp_path / "nowhere"))[1]]
    assert problems == ["cannot be read (No such file or directory)"] * 2


def test_more_statements_than_there_are_numbers_are_refused(tmp_path: Path) -> None:
    many = "".join(f"value {number},class\n" for number in range(3000))
    header = "template_id,template_text,param_1,param_2,param_3,constraints,label\n"
    found = faults_of(tmp_path, templates=header + "a,#1 #2 #3,d,d,d,,No\n", domains={"d": many})
    assert found == [
        "templates.csv: more than 4,294,967,295 statements; expected fewer parameters or values"
    ]


def test_a_file_without_templates_is_refused(tmp_path: Path) -> None:
    assert faults_of(tmp_path, templates=HEADER) == [
        "templates.csv: contains no templates; expected a template in each row"
    ]
