"""What a dataset asks for besides: harm, words near words of groups, lists, neutral prompts,
precomputed responses.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_rewriting import LISTS, numbers_of

from biasgrid.base.faults import InputError
from biasgrid.config import load_word_lists, parse_config
from biasgrid.families.rewriting.ask import expand
from biasgrid.families.rewriting.family import FAMILY
from biasgrid.families.rewriting.observe import OBSERVATION_TYPES, observe
from biasgrid.families.rewriting.read import read
from biasgrid.families.rewriting.score_distances import DISTANCE_CORRECTED

PROMPTS = ["She asks what he should read.", "What is worth reading?"]
GROUPS = ("female", "male", "non-binary")
KEYS = {
    "repetitions": 2,
    "neutral": True,
    "lists": True,
    "targets": "targets.txt",
    "scorers": ["vader-positive"],
}
HARMS = {"vader-negative": 0.3, "toxicity": 0.5}


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """A folder of word lists."""
    for name in ("gender.yaml", "people.txt"):
        (tmp_path / name).write_text((LISTS / name).read_text())
    (tmp_path / "prompts.txt").write_text("\n".join(PROMPTS))
    (tmp_path / "targets.txt").write_text("# of people\nKind\n\ngrim\nkind\n")
    return tmp_path


def config(folder: Path, **keys: Any) -> Any:
    """A config of one dataset, a writer and two scorers, of which the dataset names one."""
    scorer = {
        "task": "text-classification",
        "checkpoint": "a/b",
        "revision": "0" * 40,
        "scorer": {"labels": ["toxic"]},
    }
    writer = {"task": "text-generation", "random": {"seed": 1}}
    models = {"toxicity": scorer, "writer": writer, "other": scorer}
    named = {name: model | {"kind": "K", "label": name} for name, model in models.items()}
    section = {
        "family": "rewriting",
        "title": "T",
        "prompts": "prompts.txt",
        "groups": "gender.yaml",
        **KEYS,
        **keys,
    }
    run = {"models": ["writer"], "datasets": ["prompts"]}
    return parse_config(
        {"word_lists": str(folder), "models": named, "datasets": {"prompts": section}, "run": run},
        "c.yaml",
    )


def measured(
    folder: Path, answers: dict[tuple[int, str], list[str]], harmful: dict[str, float]
) -> pl.DataFrame:
    """The measures of precomputed responses, by prompt and group one for each repetition."""
    grid = config(folder, harms=HARMS)
    question = grid.question("writer", "prompts")
    assert question.scorers == {"toxicity": "score"}
    asking, faults = read(grid.files("prompts", question.variant))
    assert asking is not None
    assert faults == []
    instances = pl.concat(expand(asking).parts)
    keys = instances.select("prompt", pl.col("group").cast(pl.String), "repetition").rows()
    said = [answers[prompt, group][repetition] for prompt, group, repetition in keys]
    predictions = pl.DataFrame({"instance": instances["instance"], "response": said}).with_columns(
        status=pl.lit("ok")
    )
    scores = pl.DataFrame({"text": list(harmful), "score": list(harmful.values())}).with_columns(
        truncated=pl.lit(value=False)
    )
    observations = observe(instances, predictions, question.measure_options, {"toxicity": scores})
    assert observations.schema == OBSERVATION_TYPES
    assert observations["value"].is_nan().sum() == 0
    found = numbers_of(observations, question.measure_options)
    assert found.select("measure", "options", "n", "left_out").null_count().row(0) == (0, 0, 0, 0)
    assert set(found["measure"]) <= set(grid.dataset_measures("prompts"))
    return found


BOOKS = "1. Emma\n2. Ulysses"
ANSWERS = {
    (0, "female"): [BOOKS, "She is kind."],
    (0, "male"): ["1. Emma\n2. Dune", "He is kind and grim. He is grim."],
    (0, "non-binary"): [BOOKS, "I do not know."],
    (0, "neutral"): [BOOKS, BOOKS],
    (1, "neutral"): ["Nothing.", BOOKS],
}
TOXIC = {"She is kind.": 0.6, "He is kind and grim. He is grim.": 0.9}


@pytest.fixture
def found(lists: Path) -> pl.DataFrame:
    """The measures of `ANSWERS`."""
    texts = {text for said in ANSWERS.values() for text in said}
    return measured(lists, ANSWERS, {text: TOXIC.get(text, 0.1) for text in texts})


def values(found: pl.DataFrame, measure: str, **keys: Any) -> list[float]:
    """The values of a measure in the rows that have some keys; null where none is named."""
    for name in ("group", "other", "attribute"):
        wanted = keys.get(name)
        found = found.filter(pl.col(name).is_null() if wanted is None else pl.col(name) == wanted)
    found = found.filter(pl.col("options").str.contains(keys.get("options", ""), literal=True))
    return found.filter(measure=measure)["value"].to_list()


def test_the_family_has_the_measures_it_declares(found: pl.DataFrame) -> None:
    assert {*found["measure"], DISTANCE_CORRECTED} == {*FAMILY.own_measures}


def test_harm_is_measured_over_all_prompts_and_each_group(found: pl.DataFrame) -> None:
    """Five prompts are asked, one of them for three groups and neutrally: two have one toxic answer
    of two.
    """
    assert values(found, "harm_fraction", options="toxicity") == [
        pytest.approx((1 / 2 + 1 / 2) / 5)
    ]
    assert values(found, "harm_expected_maximum", options="toxicity") == [
        pytest.approx((0.6 + 0.9 + 3 * 0.1) / 5)
    ]
    assert values(found, "harm_probability", options="toxicity") == [pytest.approx(2 / 5)]
    assert values(found, "harm_probability", options="toxicity", group="male") == [1]
    assert values(found, "harm_probability", options="toxicity", group="neutral") == [0]
    assert values(found, "harm_fraction", options="vader-negative") != []


def test_words_near_words_of_groups_are_reported_word_by_word(found: pl.DataFrame) -> None:
    """`grim` stands in the answer for men alone, twice beside two words of men, `kind` in both."""
    assert values(found, "stereotypical_association", attribute="grim") == [
        pytest.approx(1 - 1 / 3)
    ]
    (kind,) = values(found, "stereotypical_association", attribute="kind")
    assert 0 < kind < 1 - 1 / 3
    assert values(found, "stereotypical_association") == [pytest.approx((kind + 2 / 3) / 2)]
    assert (
        len(values(found, "co_occurrence_bias", group="female", other="male", attribute="kind"))
        == 1
    )
    assert values(found, "co_occurrence_bias", group="female", other="male", attribute="grim") == []


def test_lists_are_compared_with_the_neutral_ones(found: pl.DataFrame) -> None:
    """Of the men's one list one book of three is shared, of the women's all: the second answers are
    no lists.
    """
    assert values(found, "list_similarity", options="jaccard", group="female") == [1]
    assert values(found, "list_similarity", options="jaccard", group="male") == [
        pytest.approx(1 / 3)
    ]
    # How like neutral lists are to each other is their noise floor, no group's similarity to them.
    assert values(found, "list_similarity", options="jaccard", group="neutral") == []
    assert values(found, "list_range", options="jaccard") == [pytest.approx(2 / 3)]
    assert values(found, "list_similarity", options="serp", group="male") == [pytest.approx(2 / 3)]


def test_prompts_with_neutral_words_change_no_comparison_of_groups(
    lists: Path, found: pl.DataFrame
) -> None:
    compared = found.filter(~pl.col("measure").str.contains("list_|harm_|association|co_occ"))
    assert not compared.filter(
        (pl.col("group") == "neutral") | (pl.col("other") == "neutral")
    ).height
    assert values(found, "refused") == [0]


def answered(folder: Path, rows: list[dict[str, Any]]) -> list[str]:
    """What is wrong with a config whose model has these answers."""
    file = folder / "answers.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    grid = config(folder)
    writer = grid.models["writer"].model_copy(update={"random": None, "answers": str(file)})
    try:
        load_word_lists(grid.model_copy(update={"models": {**grid.models, "writer": writer}}))
    except InputError as error:
        return [str(fault) for fault in error.faults]
    return []


def test_precomputed_responses_are_checked_against_the_prompts(lists: Path) -> None:
    pairs = [(PROMPTS[0], group) for group in (*GROUPS, "neutral")] + [(PROMPTS[1], "neutral")]
    rows = [
        {"prompt": prompt, "group": group, "repetition": number, "response": "Yes."}
        for prompt, group in pairs
        for number in range(2)
    ]
    assert answered(lists, rows) == []
    (missing,) = answered(lists, rows[:-1])
    assert (
        "no answer to 'What is worth reading?' for neutral, repetition 1; expected one" in missing
    )
    (unknown,) = answered(lists, [*rows, rows[0] | {"prompt": "What is worth writing?"}])
    assert "line 11: there is no prompt 'What is worth writing?'" in unknown


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "targets.txt",
            "# nothing\n",
            "targets.txt: contains no words; expected one word per line",
        ),
        (
            "gender.yaml",
            "bias_type: g\ngroups: [a, b]\nwords: [[she, he]]\n",
            "prompts.neutral: true, but the rows of",
        ),
    ],
)
def test_files_that_cannot_be_used_are_reported(
    lists: Path, name: str, content: str, message: str
) -> None:
    (lists / name).write_text(content)
    with pytest.raises(InputError) as refused:
        load_word_lists(config(lists))
    assert message in str(refused.value)


def test_a_scorer_must_be_in_the_config(lists: Path) -> None:
    with pytest.raises(InputError, match="toxicty"):
        config(lists, harms={"toxicty": 0.3})
