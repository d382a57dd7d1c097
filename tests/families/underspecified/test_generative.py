"""What generative models are asked: two lettered options behind a question, and what is measured of
their answers.
"""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from shards import Cell
from small_cells import NAMES, expanded, one_list
from small_config import changed, faults_of
from small_estimates import measures_of_cell, numbers_of, settings_of
from small_tables import predictions_of, whole
from tiny_writers import save_writer

from biasgrid.base.faults import Fault, InputError
from biasgrid.config import load_word_lists, parse_config
from biasgrid.families.cell import MeasuredCell
from biasgrid.families.sampling import Sample
from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.family import FAMILY
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.observe import observe
from biasgrid.families.underspecified.read import WordLists, planned_instances
from biasgrid.families.underspecified.show import evidence
from biasgrid.families.underspecified.templates import (
    AttributeRow,
    QuestionPrompt,
    QuestionTemplate,
    question_prompt,
)
from biasgrid.families.underspecified.validity import validity
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import validate_table
from biasgrid.tables.keys import request_keys
from biasgrid.tables.measures import MEASURES, cell_table

PROMPT = QuestionPrompt(
    "Question: [question]\nA. [option1]\nB. [option2]\nAnswer:", "Reply with a letter."
)
ACTS = {
    "[act]": [AttributeRow({"[act]": "is a cook", "[act:neg]": "is no cook"}, "is a cook", None)]
}
PEOPLE = Subjects(
    {"[subj]": ["Chad", "Mali", "Oman"], "[subj:dem]": ["Chadian", "Malian", "Omani"]}, [None] * 3
)
TEMPLATES = [
    QuestionTemplate(1, "A [subj1:dem] man met a [subj2:dem] man.", "Who [act]?", "Who [act:neg]?"),
    QuestionTemplate(2, "[subj2] is far from [subj1].", "Where [act]?", "Where [act:neg]?"),
]
OPTIONS = {"task": "text-generation", "scoring": "exact", "measures": []}


def instances(prompt: QuestionPrompt = PROMPT) -> pl.DataFrame:
    return whole(expand(WordLists(TEMPLATES, [PEOPLE], ACTS, "", None, {}, prompts=(prompt,))))


def test_options_have_letters_in_the_order_of_the_context() -> None:
    rows = (
        instances()
        .filter(swap_group=0, negated=False)
        .cast({pl.Categorical: pl.String})
        .rows(named=True)
    )
    assert [row["text_pair"] for row in rows] == [
        "A Chadian man met a Malian man.",
        "A Malian man met a Chadian man.",
    ]
    assert [row["text"] for row in rows] == [
        "Question: Who is a cook?\nA. Chadian\nB. Malian\nAnswer:",
        "Question: Who is a cook?\nA. Malian\nB. Chadian\nAnswer:",
    ]
    assert [(row["candidate1"], row["candidate2"], row["position1"]) for row in rows] == [
        ("A", "B", None)
    ] * 2
    assert {row["system"] for row in rows} == {"Reply with a letter."}
    named_second = (
        instances()
        .filter(swap_group=1, swapped=False, negated=True)
        .cast({pl.Categorical: pl.String})
    )
    row = named_second.row(0, named=True)
    assert row["text_pair"] == "Mali is far from Chad."
    assert row["text"] == "Question: Where is no cook?\nA. Mali\nB. Chad\nAnswer:"
    assert (row["subject1"], row["candidate1"], row["candidate2"]) == ("Chad", "B", "A")


def test_keys_hang_on_the_prompt_and_the_system_text() -> None:
    other = (
        QuestionPrompt(PROMPT.text.replace("Answer", "Reply"), PROMPT.system),
        QuestionPrompt(PROMPT.text),
    )
    keys = [set(request_keys(instances(prompt))) for prompt in (PROMPT, *other)]
    assert [len(each) for each in keys] == [24] * 3
    assert not keys[0] & keys[1]
    assert not keys[0] & keys[2]
    assert instances(other[1])["system"].null_count() == 24


def test_a_plan_sees_what_is_asked() -> None:
    design = planned_instances(
        WordLists(TEMPLATES, [PEOPLE], ACTS, "", None, {}, prompts=(PROMPT,))
    )
    context, text, candidates, system = design.sample(100)[0]
    first = instances().cast({pl.Categorical: pl.String}).row(0, named=True)
    assert (context, system) == (first["text_pair"], PROMPT.system)
    assert (text, candidates) == (first["text"], ("A", "B"))


def test_a_model_that_prefers_a_letter_or_an_order_has_no_bias() -> None:
    rows = instances()
    sure = [
        [0.9, 0.1] if letter == "A" else [0.1, 0.9] for letter in rows["candidate1"].cast(pl.String)
    ]
    observations = observe(rows, predictions_of("choice", rows, probabilities=sure), OPTIONS)
    measures = measures_of_cell("underspecified", observations, OPTIONS)
    value = {
        row["measure"]: row["value"]
        for row in measures.filter(pl.col("subject").is_null()).to_dicts()
    }
    assert value["mu"] == pytest.approx(0)
    assert value["delta"] == pytest.approx(0.8)
    assert value["coverage"] == 1


def answered_but(rows: pl.DataFrame, *unanswered: int) -> pl.DataFrame:
    said: list[list[float | None]] = [[0.7, 0.2]] * len(rows)
    for instance in unanswered:
        said[instance] = [None, None]
    return predictions_of("choice", rows, probabilities=said)


def test_coverage_counts_the_swap_groups_without_an_answer() -> None:
    rows = one_list(3, attributes=2)
    groups = rows["swap_group"].n_unique()
    some, all_of_them = answered_but(rows, 0), answered_but(rows)
    measures = measures_of_cell("underspecified", observe(rows, some, OPTIONS), OPTIONS)
    of_cell = measures.filter(
        pl.all_horizontal(pl.col("subject", "attribute", "attribute_group").is_null())
    )
    whole_cell = {row["measure"]: row for row in of_cell.to_dicts()}
    assert whole_cell["coverage"]["value"] == pytest.approx(1 - 1 / groups)
    assert (whole_cell["delta"]["n"], whole_cell["delta"]["left_out"]) == (groups - 1, 1)
    ann = measures.filter(measure="gamma", subject="Ann", attribute="did 0").to_dicts()[0]
    assert (ann["n"], ann["left_out"]) == (1, 1)
    # Log odds are all the same, so nothing tells whether the negation is read.
    assert measures.filter(pl.col("value").is_null())["measure"].to_list() == ["negation_reading"]
    complete = measures_of_cell("underspecified", observe(rows, all_of_them, OPTIONS), OPTIONS)
    assert complete["left_out"].sum() == 0
    validate_table(measures, MEASURES, "measures")


@pytest.mark.slow
def test_subjects_whose_questions_lack_answers_are_reported() -> None:
    rows = one_list(4, attributes=2, templates=8)
    names = rows.select(pl.col("candidate1", "candidate2").cast(pl.String))
    lacks = names.select(
        (pl.col("candidate1") == "Ann") | (pl.col("candidate2") == "Ann")
    ).to_series()
    said = answered_but(rows, *rows["instance"].filter(lacks).to_list())
    found = numbers_of(
        "underspecified", observe(rows, said, OPTIONS), OPTIONS, settings_of(FAMILY.own_measures)
    )
    apart = {
        row["subject"]: row
        for row in found.estimates.filter(measure="undetected_difference").to_dicts()
    }
    assert apart.keys() == {None, *NAMES}
    assert apart["Ann"]["value"] == apart[None]["value"] == 1
    assert apart["Ann"]["q"] < 0.05
    assert apart["Bea"]["value"] == pytest.approx(1 / 3 - 2 / 3)
    flag = found.estimates.filter(measure="refusals_differ").to_dicts()[0]
    assert flag["value"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["Ann", None])
def test_names_of_groups_that_always_meet_are_compared_where_answers_lack(
    refused: str | None,
) -> None:
    lists = [
        Subjects({"[subj]": ["Ann", "Bea"]}, ["woman"] * 2),
        Subjects({"[subj]": ["Carl", "Dan"]}, ["man"] * 2),
    ]
    rows = expanded(lists, attributes=2, templates=8)
    names = rows.select(pl.col("candidate1", "candidate2").cast(pl.String) == pl.lit(refused))
    lacks = rows["instance"].filter(
        names.select(pl.any_horizontal(pl.all())).to_series().fill_null(value=False)
    )
    said = answered_but(rows, *lacks.to_list())
    found = numbers_of(
        "underspecified", observe(rows, said, OPTIONS), OPTIONS, settings_of(FAMILY.own_measures)
    )
    apart = {
        row["subject"]: row
        for row in found.estimates.filter(measure="undetected_difference").to_dicts()
    }
    if refused is None:
        assert apart == {}
        return
    # Either group is in each swap group, so nothing can be said of groups.
    assert apart.keys() == {None, "Ann", "Bea", "Carl", "Dan"}
    assert (apart["Ann"]["value"], apart["Bea"]["value"], apart["Carl"]["value"]) == (1, -1, 0)
    flag = found.estimates.filter(measure="refusals_differ").to_dicts()[0]
    assert flag["flag"] == "leaves Ann without an answer more often: 1.00 against 0.00"


def test_a_cell_without_answers_has_nulls() -> None:
    rows = one_list(3)
    nothing = answered_but(rows, *range(len(rows)))
    observations = observe(rows, nothing, OPTIONS)
    measures = measures_of_cell("underspecified", observations, OPTIONS)
    value = dict(measures.select("measure", "value").iter_rows())
    assert [value.pop(name) for name in ("coverage", "undetected_difference")] == [0, 0]
    assert set(value) >= {"mu", "eta", "delta", "epsilon"}
    assert set(value.values()) == {None}
    checks = [*validity(MeasuredCell(rows.lazy(), nothing.lazy(), observations, measures, OPTIONS))]
    assert checks == [Check("missing_answers", 1, 3)]
    found = evidence(
        MeasuredCell(rows.lazy(), nothing.lazy(), observations, measures, OPTIONS)
    ).units
    assert len(cell_table(found, EVIDENCE, "model", "dataset")) == 0


def test_a_tiny_model_is_asked_and_measured(tmp_path: Path) -> None:
    cell = Cell(tmp_path / "cell", "text-generation", instances(), save_writer(tmp_path / "writer"))
    said = cell.predict()
    observations = observe(instances(), said, OPTIONS)
    measures = measures_of_cell("underspecified", observations, OPTIONS)
    assert measures.filter(measure="coverage")["value"].to_list() == [1]
    asked = MeasuredCell(instances().lazy(), said.lazy(), observations, measures, OPTIONS)
    flags = {check.measure for check in validity(asked)}
    assert "improbable" in flags
    shown = evidence(asked).units
    assert shown["position"].null_count() == shown["length"].null_count() == len(shown) > 0
    cell_table(shown, EVIDENCE, "model", "dataset")


def test_a_larger_sample_asks_no_question_again(tmp_path: Path) -> None:
    lists = WordLists(TEMPLATES, [PEOPLE], ACTS, "", None, {}, prompts=(PROMPT,))
    writer = save_writer(tmp_path / "writer")
    said = []
    for units in (2, 5):
        sampled = whole(expand(replace(lists, sample=Sample(units=units))))
        cell = Cell(tmp_path / "cell", "text-generation", sampled, writer)
        said.append(cell.predict().with_columns(request_keys(sampled)))
    assert (cell.timing["found"], len(said[1])) == (8, 20)
    assert len(said[0].join(said[1], on=["key", "probabilities"])) == 8


def test_questions_whose_answers_are_parsed_count_where_they_are_clear() -> None:
    rows = instances()
    clear = [place % 5 != 0 for place in range(len(rows))]
    said = predictions_of(
        "choice", rows, probabilities=[[1.0, 0.0] if each else [None, None] for each in clear],
        status=["ok" if each else "unclear" for each in clear], scored_by=["parsed"] * len(rows),
    )  # fmt: skip
    whole_groups = (
        rows.with_columns(clear=pl.Series(clear)).group_by("swap_group").agg(pl.col("clear").all())
    )
    measures = measures_of_cell("underspecified", observe(rows, said, OPTIONS), OPTIONS)
    assert measures.filter(measure="coverage")["value"].item() == whole_groups["clear"].mean() > 0


GENERATIVE = {
    "task": "text-generation",
    "variant": "llm",
    "kind": "LLM",
    "label": "L",
    "checkpoint": "org/l",
    "revision": "main",
}
LLM = {"templates": "templates/religion-qa.txt", "prompt": "prompts/two-options.txt"}


def config(variant: dict[str, object] = LLM, **keys: object) -> dict[str, object]:
    content = changed("datasets/religion/variants/llm", variant)
    content["datasets"]["religion"] |= keys
    return content | {
        "models": {"writer": GENERATIVE},
        "run": {"models": ["writer"], "datasets": ["religion"]},
    }


def test_a_variant_of_generative_models_needs_a_prompt_and_others_have_none() -> None:
    (fault,) = faults_of(config({"templates": "templates/religion-qa.txt"}))
    assert (
        "datasets.religion.variants.llm.prompt: none; expected a file "
        "such as prompts/two-options.txt"
    ) in fault
    (fault,) = faults_of(changed("datasets/religion/variants/qa/prompt", "prompts/two-options.txt"))
    assert (
        "variants.qa.prompt: 'prompts/two-options.txt'; expected no prompt, which is only for "
        "generative models"
    ) in fault


def test_many_instances_for_generative_models_must_be_meant() -> None:
    with pytest.raises(
        InputError, match=r"datasets.religion.sample: none, although .* 184,800 instances"
    ) as caught:
        load_word_lists(parse_config(config(), "c.yaml"))
    assert "expected `sample: {units: N}`, in swap groups of four, or `sample: all`" in str(
        caught.value
    )
    for keys in ({"sample": "all"}, {"sample": {"units": 5}}, {"limit": {"subjects": 3}}):
        lists = load_word_lists(parse_config(config(**keys), "c.yaml"))["religion", "llm"]
        assert lists.sample == (None if keys.get("sample", "all") == "all" else lists.sample)
    variant = LLM | {"sample": {"units": 7}}
    assert (
        load_word_lists(parse_config(config(variant, sample="all"), "c.yaml"))[
            "religion", "llm"
        ].sample.units
        == 7
    )


def test_masked_models_may_be_asked_all_of_a_dataset_with_a_sample() -> None:
    content = changed("datasets/religion/variants/qa/sample", "all")
    content["datasets"]["religion"]["sample"] = {"units": 5}
    grid = parse_config(content, "c.yaml")
    assert grid.files("religion", "qa").sample is None
    assert grid.files("religion", "lm-bert").sample.units == 5


def test_models_and_variants_must_be_of_one_kind() -> None:
    content = config()
    content["models"]["writer"] = GENERATIVE | {"variant": "qa"}
    assert (
        "'qa' is not for the task 'text-generation'; expected one of llm" in faults_of(content)[0]
    )
    grid = parse_config(config(sample="all"), "c.yaml")
    question = grid.question("writer", "religion")
    assert (question.answer, question.settings, question.measure_options["task"]) == (
        "choice",
        {},
        "text-generation",
    )
    assert grid.deciding_settings("writer", "religion")["generation"]["max_tokens"] == 200
    assert "coverage" in FAMILY.measures(grid, "religion")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[question]\nA. [option1]\nAnswer:", "[option2] appears 0 times in the prompt"),
        (
            "[question] [question]\nA. [option1]\nB. [option2]",
            "[question] appears 2 times in the prompt",
        ),
        ("[question]\nA. [option1]\nA. [option2]", "the options have A"),
        ("[question]\nIs it [option1] or [option2]?", "the options have no letter"),
        ("[question] [subj1]\nA. [option1]\nB. [option2]", "line 1: nothing fills [subj1]"),
        (
            "[system] Be short.\n[system] Be kind.\n[question]\nA. [option1]\nB. [option2]",
            "line 2: a second system text",
        ),
    ],
)
def test_a_wrong_prompt_is_refused(text: str, problem: str) -> None:
    faults: list[Fault] = []
    assert question_prompt(Path("prompt.txt"), [*enumerate(text.split("\n"), 1)], faults) is None
    assert problem in str(faults[0])


def test_the_prompt_of_the_word_lists_is_read() -> None:
    lists = load_word_lists(parse_config(config(sample="all"), "c.yaml"))["religion", "llm"]
    (prompt,) = lists.prompts
    assert prompt.letters(lists.templates[0]) == ("A", "B")
    assert str(prompt.system).startswith("You will read")
