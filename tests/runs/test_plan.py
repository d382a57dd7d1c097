import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from small_grid import read_grid, write_grid
from small_tables import whole, write_instances
from transformers import AutoModelForMaskedLM, AutoTokenizer

from biasgrid.config import Config, load_word_lists, parse_config, read_config
from biasgrid.families.underspecified.ask import KEYS, expand
from biasgrid.inference.checkpoints.fetch import make_record
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.masked.back_end import FillMask
from biasgrid.inference.models.masked.one_token import are_one_token
from biasgrid.runs.counts import Estimate, InstancesToAsk
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import CellPlan, MachineRate, Plan, make_plan

pytestmark = pytest.mark.family(
    "what is planned are underspecified questions, which tokenizers filter"
)

ROOT = Path(__file__).parents[2]
PEOPLE = 4 * 3 * 2 * 3 * 2
"""Ordered pairs of 4 subjects x 2 templates x 3 attributes x plain and negated."""

Checkpoints = Callable[[str, str], Path]


def planned(config: Config, **rate: float) -> Plan:
    return make_plan(config, load_word_lists(config), MachineRate(**rate))


def cell_of(plan: Plan, model: str, dataset: str = "people") -> CellPlan:
    return next(cell for cell in plan.cells if (cell.model, cell.dataset) == (model, dataset))


@pytest.fixture
def grid(tmp_path: Path) -> Config:
    """A grid of which nothing has been fetched or made."""
    return read_grid(write_grid(tmp_path))


@pytest.fixture
def local_grid(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Config:
    """A grid whose checkpoints lie in a folder."""
    return read_grid(write_grid(tmp_path, checkpoint=str(tiny_checkpoint("bert", "fill-mask"))))


def expanded(config: Config, dataset: str = "people", variant: str = "qa") -> pl.DataFrame:
    return whole(expand(load_word_lists(config)[dataset, variant]))


def test_instances_are_counted_without_any_file_of_a_run(grid: Config) -> None:
    plan = planned(grid)
    assert cell_of(plan, "one").instances == Estimate(PEOPLE)
    assert cell_of(plan, "one", "pairs").instances == Estimate(len(expanded(grid, "pairs")))
    assert [(cell.dataset, cell.model) for cell in plan.cells[:3]] == [
        ("people", name) for name in grid.run.models
    ]


def test_a_tokenizer_that_is_not_at_hand_makes_a_count_an_upper_bound(grid: Config) -> None:
    assert cell_of(planned(grid), "masked").instances == Estimate(PEOPLE / 2, exact=False)


@pytest.mark.parametrize("fetched", [False, True])
def test_a_tokenizer_at_hand_makes_the_count_exact(local_grid: Config, fetched: bool) -> None:
    if fetched:
        record = make_record(**local_grid.tokenizer_record_arguments("tiny"))
        path = Layout(local_grid).record("tokenizers", "tiny")
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(record))
    assert cell_of(planned(local_grid), "masked").instances == Estimate(3 * 2 * 1 * 3 * 2)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "albert"])
def test_the_count_matches_an_expansion_with_the_whole_tokenizer(
    tmp_path: Path, tiny_checkpoint: Checkpoints, architecture: str
) -> None:
    checkpoint = str(tiny_checkpoint(architecture, "fill-mask"))
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    tokenizers = {"tiny": {"mask": tokenizer.mask_token, "folder": checkpoint}}
    config = read_grid(write_grid(tmp_path, tokenizers=tokenizers))
    (tmp_path / "word_lists" / "subjects.txt").write_text(
        "[subj] Ann\n[subj] Zoë\n[subj] 日本\n[subj] Ann Carl\n"
    )
    expansion = expand(
        load_word_lists(config)["people", "lm-tiny"], partial(are_one_token, tokenizer)
    )
    assert expansion.facts["dropped_subjects"] == ["日本", "Ann Carl"]
    assert cell_of(planned(config), "masked").instances == Estimate(len(whole(expansion)))


def test_the_instances_table_shows_the_count_if_it_was_made_from_the_same_word_lists(
    grid: Config,
) -> None:
    lists = load_word_lists(grid)["people", "lm-tiny"]
    table = Layout(grid).instances("people", "lm-tiny")
    instances = whole(expand(lists, lambda words: [word != "Ann" for word in words]))
    write_instances(instances, table, KEYS, word_lists=lists.digest())
    assert cell_of(planned(grid), "masked").instances == Estimate(3 * 2 * 1 * 3 * 2)
    write_instances(instances, table, KEYS, word_lists="of other lists")
    assert cell_of(planned(grid), "masked").instances.exact is False


@pytest.mark.parametrize(
    ("architecture", "model"), [("bert", "one"), ("roberta", "one"), ("bert", "masked")]
)
def test_tokens_match_the_models_tokenizer(
    tmp_path: Path, tiny_checkpoint: Checkpoints, architecture: str, model: str
) -> None:
    checkpoint = tiny_checkpoint(architecture, "fill-mask")
    config = read_grid(write_grid(tmp_path, checkpoint=str(checkpoint)))
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    variant = config.models[model].variant
    texts = expanded(config, "pairs", variant).select(pl.col("text", "text_pair").cast(pl.String))
    questions, contexts = texts["text"].to_list(), texts["text_pair"].to_list()
    pairs = (
        (questions, contexts)
        if model == "one"
        else ([f"{a} {b}" for a, b in zip(contexts, questions, strict=True)],)
    )
    lengths = [len(ids) for ids in tokenizer(*pairs)["input_ids"]]
    assert cell_of(planned(config), model, "pairs").tokens == Estimate(sum(lengths), exact=False)


def test_tokens_of_subjects_of_several_tokens_match_all_inputs(
    tmp_path: Path, tiny_checkpoint: Checkpoints
) -> None:
    path = write_grid(tmp_path, checkpoint=str(tiny_checkpoint("bert", "fill-mask")))
    content = yaml.safe_load(path.read_text())
    content["datasets"]["people"]["target_scoring"] = "joint"
    config = parse_config(content, str(path))
    cell = cell_of(planned(config), "masked")
    # There is one template for masked language models.
    assert cell.instances == Estimate(PEOPLE / 2)
    speed: dict[str, Any] = {
        "precision": "float32",
        "token_budget": 512,
        "device": "cpu",
        "seconds_without_progress": 60,
    }
    question = config.question("masked", "people")
    settings = InferenceSettings(
        model="masked",
        task="fill-mask",
        **speed,
        answer=question.answer,
        choices=question.settings,
    )
    back_end = FillMask.load(make_record(**config.model_record_arguments("masked")), settings)
    encoded = back_end.encode(expanded(config, "people", "lm-tiny"), whole=False)
    assert cell.tokens.value == pytest.approx(encoded.rows.lengths.sum())
    assert len(encoded.rows.lengths) > 1.5 * PEOPLE / 2


def test_a_sample_of_a_table_falls_in_with_no_period_of_it() -> None:
    lengths = [1, 1, 1, 1, 9, 9, 9, 9] * 1000
    table = pl.DataFrame({"text": ["a" * length for length in lengths]})
    table = table.with_columns(system=pl.lit(None, pl.String), text_pair=pl.lit(None, pl.String))
    sample = InstancesToAsk(table).sample(125)
    assert len(sample) == 125
    assert sum(len(text) for _, text, _, _ in sample) / 125 == pytest.approx(5, rel=0.05)


def test_parts_of_a_table_are_spread_over_it() -> None:
    table = pl.DataFrame({"text": [*map(str, range(23))]})
    table = table.with_columns(system=pl.lit(None, pl.String), text_pair=pl.lit(None, pl.String))
    planned = InstancesToAsk(table)
    parts = [[text for _, text, _, _ in part] for part in planned.parts(3, 4)]
    assert parts == [[*map(str, range(first, first + 4))] for first in (0, 9, 19)]
    assert [len(part) for part in planned.parts(3, 50)] == [23]


def test_system_texts_are_counted() -> None:
    asked = {
        "system": ["Be short.", None],
        "text_pair": [None, "It rained."],
        "text": ["One?", "Two?"],
    }
    table = pl.DataFrame(asked | {"candidate1": ["Yes", None]})
    assert InstancesToAsk(table).sample(2) == [
        ("", "One?", ["Yes"], "Be short."),
        ("It rained.", "Two?", [], ""),
    ]


def test_without_a_tokenizer_tokens_are_estimated_from_words(grid: Config) -> None:
    tokens = cell_of(planned(grid), "one").tokens
    assert tokens.exact is False
    assert 12 * PEOPLE < tokens.value < 16 * PEOPLE


def test_flop_are_two_per_token_and_parameter_that_is_not_looked_up(
    tiny_checkpoint: Checkpoints, local_grid: Config
) -> None:
    model = AutoModelForMaskedLM.from_pretrained(tiny_checkpoint("bert", "fill-mask"))
    looked_up = {id(weight) for weight in model.bert.embeddings.parameters()}
    vocabulary = model.config.vocab_size
    computed = [
        weight.numel()
        for weight in model.parameters()
        if id(weight) not in looked_up and weight.shape[0] != vocabulary
    ]
    cell = cell_of(planned(local_grid), "one")
    assert cell.parameters == sum(computed)
    assert cell.flop == Estimate(2 * sum(computed) * cell.tokens.value, exact=False)


def test_before_a_model_is_fetched_its_flop_are_unknown_and_so_is_the_time(grid: Config) -> None:
    plan = planned(grid, tflops=1)
    assert cell_of(plan, "one").parameters is None
    assert cell_of(plan, "one").flop.value is None
    assert plan.totals.flop.value is None
    assert plan.totals.seconds.value is None


def test_times_match_the_rate(local_grid: Config) -> None:
    fast = cell_of(planned(local_grid, tflops=2), "one")
    assert fast.seconds.value == pytest.approx(fast.flop.value / 2e12)
    plan = planned(local_grid, rows_per_second=10)
    assert cell_of(plan, "one").seconds == Estimate(PEOPLE / 10)
    assert plan.totals.seconds.value == pytest.approx(plan.totals.instances.value / 10)
    assert cell_of(planned(local_grid), "one").seconds.value is None


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345678")


def test_models_that_another_precision_would_make_much_faster_are_named(grid: Config) -> None:
    assert planned(grid).faster == {}
    drift = {"largest_drift": 0.0031, "mean_drift": 0.0004}
    for dataset, times in (("people", 4.4), ("pairs", 2.1)):
        folder = Layout(grid).answers(dataset, "one") / "0123"
        folder.mkdir(parents=True)
        found = {"bfloat16_is_faster": times, "processor": "a CPU", "bfloat16_drift": drift}
        (folder / "processor-4567.json").write_text(json.dumps(found))
    words = (
        "4.4 times as fast at matrix products on a CPU; the probabilities in the audit would "
        "change by up to 0.0031, "
    )
    assert planned(grid).faster == {"one": f"{words}0.0004 on average"}


def test_what_is_done_is_counted_and_not_planned_again(grid: Config) -> None:
    layout = Layout(grid)
    touch(layout.shards("people", "one")[0].predictions, layout.measures("people", "two"))
    plan = planned(grid, rows_per_second=1)
    one = cell_of(plan, "one")
    assert (one.shards, one.shards_done, one.measured) == (2, 1, False)
    assert one.seconds_left == Estimate(PEOPLE / 2)
    assert cell_of(plan, "two").measured
    assert (plan.totals.shards, plan.totals.shards_done, plan.totals.measured) == (9, 1, 1)
    assert plan.totals.seconds_left.value == plan.totals.seconds.value - PEOPLE / 2


def test_sizes_match_the_tables_that_are_there(grid: Config) -> None:
    layout = Layout(grid)
    for dataset, models in (("people", ["one", "two"]), ("pairs", ["one", "two"])):
        touch(layout.instances(dataset, "qa"))
        touch(*(shard.predictions for model in models for shard in layout.shards(dataset, model)))
    cell = cell_of(planned(grid), "one")
    assert cell.instances_bytes == Estimate(8)
    assert cell.predictions_bytes == Estimate(2 * 8)
    selected = grid.model_copy(
        update={"run": grid.run.model_copy(update={"models": ["one", "two"]})}
    )
    # Two instances tables, which two models share, and six shards.
    assert planned(selected).totals.bytes == Estimate(2 * 8 + 6 * 8)


def test_sizes_are_estimated_before(tmp_path: Path) -> None:
    content: dict[str, Any] = read_config(ROOT / "config" / "config.yaml")
    content |= {"results": str(tmp_path), "word_lists": str(ROOT / "word_lists")}
    content["run"] = {"models": ["bertbase-squad"], "datasets": ["religion"]}
    config = parse_config(content, "config.yaml")
    estimate = planned(config).cells[0].instances_bytes
    write_instances(expanded(config, "religion", "qa"), tmp_path / "table.parquet", KEYS)
    assert estimate.exact is False
    assert estimate.value == pytest.approx((tmp_path / "table.parquet").stat().st_size, rel=0.1)


def test_imported_predictions_cost_nothing(tmp_path: Path) -> None:
    config = read_grid(write_grid(tmp_path))
    (tmp_path / "dump.json").write_text("{}")
    dump = {
        "predictions": {name: {"file": str(tmp_path / "dump.json")} for name in config.run.datasets}
    }
    content = config.model_dump(mode="json", exclude_none=True)
    content["models"]["one"] = {
        key: content["models"]["one"][key] for key in ("task", "variant", "kind", "label")
    } | dump
    config = parse_config(content, "config.yaml")
    plan = planned(config, tflops=1)
    cell = cell_of(plan, "one")
    assert cell.instances.value is None
    assert (cell.flop, cell.seconds, cell.shards, cell.shards_done) == (
        Estimate(0),
        Estimate(0),
        1,
        0,
    )
    layout = Layout(config)
    write_instances(expanded(config), layout.instances_of_cell("people", "one"), KEYS)
    touch(*layout.predictions_of_cell("people", "one"))
    cell = cell_of(planned(config), "one")
    assert (cell.instances, cell.shards_done) == (Estimate(PEOPLE), 1)
