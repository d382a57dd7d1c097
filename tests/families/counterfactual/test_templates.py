"""What models of a task ask of templates, in configs and in packs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from golden import GOLDEN
from small_packs import pack_of, read_pack, write_pack

from biasgrid.base.faults import InputError
from biasgrid.config import load_word_lists, parse_config
from biasgrid.families.counterfactual.pack import CasePack, CasePackFiles

BIAXPOSER = GOLDEN / "biaxposer" / "inputs"
WORDS = {
    "job": "nurse\nclerk\n",
    "mask": "a [MASK]\nno mask\n",
    "other": "one [MASK]\na [MASK]\n",
    "who": "the <group>\n",
}
QUESTION = {"input_names": ["q", "c"], "label_name": "a"}


def masked(text: str, targets: list[str]) -> dict[str, Any]:
    """A pack for masked language models."""
    return pack_of({"text": text, "label": targets})


def question(context: str, answer: str, **header: Any) -> dict[str, Any]:
    """A pack for question answering."""
    content = pack_of(
        {"q": "Who ran?" if header else "Who is the <group>?", "c": context, "a": answer},
        **(QUESTION | header),
    )
    del content["templates"][0]["label"]
    return content


def faults_of(
    folder: Path, task: str, templates: Any, fillings: dict[str, str] = WORDS
) -> list[str]:
    """The faults of a pack, files by their paths in the folder; none where it can be read."""
    files = write_pack(folder, templates, fillings)
    try:
        read_pack(replace(files, task=task))
    except InputError as error:
        return [str(fault).replace(f"{folder}/", "") for fault in error.faults]
    return []


@pytest.mark.parametrize(
    ("templates", "expected"),
    [
        (
            masked("The <group> is nice.", ["x"]),
            "templates[0].text: 0 masks; expected exactly one [MASK]",
        ),
        (
            masked("The <group> is [mask].", ["x"]),
            "templates[0].text: 0 masks; expected exactly one [MASK]",
        ),
        (
            masked("The <group> [MASK] [MASK].", ["x"]),
            "templates[0].text: 2 masks; expected exactly one [MASK]",
        ),
        (
            masked("The <group> [MASK] <other>.", ["x"]),
            "templates[0].text: 2 masks; expected exactly one [MASK]",
        ),
        (
            masked("The <group> is <mask>.", ["x"]),
            "templates[0].text: 0 to 1 masks, by its fillings; expected exactly one [MASK]",
        ),
        (
            masked("The <group> is [MASK].", ["x", "y", "x"]),
            (
                'templates[0].label: the target word "x" appears 2 times; expected each '
                "target word once"
            ),
        ),
        (
            masked("The <group> is [MASK].", ["x", " "]),
            (
                'templates[0].label: the target word " " is blank; expected words with one space '
                "between them, and none before or after"
            ),
        ),
        (
            masked("The <group> is [MASK].", ["x", "y "]),
            (
                'templates[0].label: the target word "y " begins or ends with white space; '
                "expected words with one space between them, and none before or after"
            ),
        ),
        (
            masked("The <group> is [MASK].", ["<job:1>"]),
            (
                'templates[0].label: the target word "<job:1>" contains a placeholder; '
                "expected only words"
            ),
        ),
        (
            masked("The <group> is [MASK].", ["a <group>"]),
            (
                'templates[0].label: the target word "a <group>" contains a placeholder; '
                "expected only words"
            ),
        ),
        (
            masked("The <group> is [MASK].", ["[MASK]"]),
            (
                'templates[0].label: the target word "[MASK]" contains a placeholder; '
                "expected only words"
            ),
        ),
        (
            pack_of({"q": "[MASK]", "c": "<group>", "label": ["x"]}, input_names=["q", "c"]),
            (
                'input_names: is ["q", "c"]; expected one name, for the text with the '
                "mask, for fill-mask"
            ),
        ),
    ],
)
def test_what_masked_language_models_cannot_be_asked(
    tmp_path: Path, templates: Any, expected: str
) -> None:
    assert faults_of(tmp_path, "fill-mask", templates) == [f"templates.json, {expected}"]


@pytest.mark.parametrize(
    "text", ["The <group> is [MASK].", "The <group> is <other>.", "<who> is [MASK]."]
)
def test_one_mask_may_be_in_a_text_or_a_filling(tmp_path: Path, text: str) -> None:
    assert faults_of(tmp_path, "fill-mask", masked(text, ["kind", "rather rude"])) == []


@pytest.mark.parametrize(
    ("templates", "expected"),
    [
        (
            pack_of({"text": "The <group> ran.", "label": "ran"}),
            (
                'input_names: is ["text"]; expected two names, for the question and the '
                "context, for question-answering"
            ),
        ),
        (
            question("The <group> ran.", "the horse"),
            (
                "templates[0].a: the answer 'the horse' is not in the context 'The man ran.'; "
                "expected an answer that appears in the context"
            ),
        ),
        (
            question("The <job> ran.", "the <job>"),
            (
                "templates[0].a: the answer 'the nurse' is not in the context 'The clerk ran.'; "
                "expected an answer that appears in the context"
            ),
        ),
        (
            question("The <job> ran.", "nurse"),
            (
                "templates[0].a: the answer 'nurse' is not in the context 'The clerk ran.'; "
                "expected an answer that appears in the context"
            ),
        ),
        (
            question("The job ran.", "the <group>"),
            (
                "templates[0].a: the answer 'the man' is not in the context 'The job ran.'; "
                "expected an answer that appears in the context"
            ),
        ),
        (
            question("The <group> ran.", "woman"),
            (
                "templates[0].a: the answer 'woman' is not in the context 'The man ran.'; expected "
                "an answer that appears in the context"
            ),
        ),
        (
            question("It is <who>.", "a <group>"),
            (
                "templates[0].a: the answer 'a man' is not in the context 'It is the man.'; "
                "expected an answer that appears in the context"
            ),
        ),
    ],
)
def test_what_readers_of_contexts_cannot_be_asked(
    tmp_path: Path, templates: Any, expected: str
) -> None:
    assert faults_of(tmp_path, "question-answering", templates) == [f"templates.json, {expected}"]


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("The <job> saw the <group>.", "the <job:1>"),
        ("The <job> saw the <group>.", "<job:1> saw the <group:1>"),
        ("It is <who>.", "the <group>"),
        ("A <group> said: <other>.", "[mask]"),
    ],
)
def test_answers_that_occur_in_every_context(tmp_path: Path, context: str, answer: str) -> None:
    assert faults_of(tmp_path, "question-answering", question(context, answer)) == []


def test_answers_with_several_group_tokens(tmp_path: Path) -> None:
    tokens = {"group_token": {"[A]": "age", "[G]": "gender"}}
    contexts = ["The [A] and the [G] ran.", "The [G] and the [A] ran."]
    found = [
        faults_of(tmp_path, "question-answering", question(each, "[A] and the [G]", **tokens))
        for each in contexts
    ]
    assert [len(faults) for faults in found] == [0, 1]
    assert (
        "the answer 'kid and the man' is not in the context 'The man and the kid ran.'"
        in found[1][0]
    )


def test_faults_of_a_task_are_reported_with_all_others(tmp_path: Path) -> None:
    templates = pack_of(
        {"text": "The <group> is <jib>.", "label": ["x"]},
        {"text": "The <group> is nice.", "label": ["x", "x"]},
        {"text": "The <group> is [MASK].", "label": ["x"]},
        {"text": "The <group> is nice.", "label": ["x"]},
    )
    faults = faults_of(tmp_path, "fill-mask", templates)
    assert [fault.split(": ")[0].removeprefix("templates.json, ") for fault in faults] == [
        "templates[0].text",
        "templates[3]",
        "templates[1].label",
        "templates[1].text",
        "templates[3].text",
    ]


def test_a_faulty_filling_is_no_second_fault(tmp_path: Path) -> None:
    templates = question("The <job> and the <group> ran.", "<job:1>")
    faults = faults_of(tmp_path, "question-answering", templates, {"job": "<job:1>\n<x:1>\n"})
    assert [fault.split(": ")[0] for fault in faults] == [
        "fillings/job, line 1",
        "fillings/job, line 2",
    ]


def test_templates_for_another_task_are_reported_by_the_config(tmp_path: Path) -> None:
    pack = masked("The <group> is nice.", ["x", "x"])
    assert faults_of(tmp_path, "text-classification", pack) == []
    assert "contains templates for 'fill-mask'" in config_error(
        tmp_path, pack, "question-answering"
    )


def test_faults_of_a_task_are_reported_as_config_faults(tmp_path: Path) -> None:
    message = config_error(tmp_path, masked("The <group> is nice.", ["x"]), "fill-mask")
    assert "templates.json, templates[0].text: 0 masks; expected exactly one [MASK]" in message


def config_error(folder: Path, templates: Any, task: str) -> str:
    """What is said of a config with a pack."""
    write_pack(folder, templates, WORDS)
    content = f"""
    title: T
    results: results
    word_lists: {folder}
    models: {{m: {{task: {task}, kind: K, label: L, checkpoint: c, revision: main}}}}
    datasets:
      d: {{family: counterfactual, title: D, task: {task}, templates: templates.json, fillings: fillings, groups: biases.json}}
    run: {{models: [m], datasets: [d]}}
    """
    with pytest.raises(InputError) as caught:
        load_word_lists(parse_config(yaml.safe_load(content), "config.yaml"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("context", "answer", "faults"),
    [
        ("<w> <w> <w> <w> <group>", "<w:3>", 0),
        ("<w> <w> <w> <w> <group> <place>", "market", 0),
        ("<w> <w> <w> <w> <group>", "market", 1),
        ("<w> <w> <w> <w> <group>", "<place>", 1),
    ],
)
def test_a_hundred_million_cases_are_not_gone_through(
    tmp_path: Path, context: str, answer: str, faults: int
) -> None:
    words = {"w": "\n".join(f"w{number}" for number in range(100)), "place": "fish market\nmarket"}
    assert (
        len(faults_of(tmp_path, "question-answering", question(context, answer), words)) == faults
    )


@pytest.mark.parametrize(
    ("name", "task"), [("single", "text-classification"), ("mlm", "fill-mask")]
)
def test_packs_of_biaxposer_can_be_asked(name: str, task: str) -> None:
    files = CasePackFiles(
        BIAXPOSER / "templates" / f"{name}.json", BIAXPOSER / "fillings", BIAXPOSER / "biases.json"
    )
    assert isinstance(read_pack(replace(files, task=task)), CasePack)
