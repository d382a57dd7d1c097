# ruff: noqa: E501 - messages stand here as users see them
import json
from pathlib import Path

import pytest
from small_config import CONTENT, changed, faults_of

from biasgrid.base.faults import InputError
from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.config.docs import config_schema
from biasgrid.tables.metric import MetricDefinitions

ROOT = Path(__file__).parents[2]


def test_a_good_config_tells_its_cells_and_files() -> None:
    config = parse_config(CONTENT, "c.yaml")
    assert list(config.cells()) == [("answers", "religion"), ("masked", "religion")]
    assert [*config.selected_variants] == [("religion", "qa"), ("religion", "lm-bert")]
    files = config.files("religion", "lm-bert")
    assert (files.templates, files.mask, files.filler) == (
        Path("word_lists/templates/religion-lm.txt"),
        "[MASK]",
        None,
    )
    assert files.subjects == (Path("word_lists/subjects/religion.txt"),)
    assert config.question("masked", "religion").tokenizer == "bert"
    assert config.question("answers", "religion").tokenizer is None
    assert config.source_of_model("masked")["checkpoint"] == "bert-base-uncased"
    assert config.source_of_model("trained")["folder"] == "results/trained/trained"
    assert config.source_of_tokenizer("bert")["checkpoint"] == "bert-base-uncased"


def test_half_precision_is_told_to_what_measures_as_its_shares_need_more_mass() -> None:
    precise, coarse = (
        parse_config(changed("inference", {"precision": each}), "c.yaml") for each in ("float32", "float16")
    )
    for model in ("masked", "answers"):
        assert "precision" not in precise.question(model, "religion").options
        assert coarse.question(model, "religion").options["precision"] == "float16"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "infrence",
            {},
            "c.yaml, infrence: unknown key (did you mean 'inference'?); expected one of comparison, datasets",
        ),
        (
            "inference/precison",
            "auto",
            "inference.precison: unknown key (did you mean 'precision'?); expected one of device",
        ),
        ("models/answers/foldr", "x", "models.answers.foldr: unknown key (did you mean 'folder'?); expected one of"),
        (
            "models/trained/train/hyperparameters",
            {"epoch": 2},
            "models.trained.train.hyperparameters.epoch: unknown key (did you mean 'epochs'?); expected one of batch_size",
        ),
        (
            "datasets/religion/variants/qa/filer",
            "x",
            "variants.qa.filer: unknown key (did you mean 'filler'?); expected",
        ),
        (
            "run/models",
            ["answer"],
            "run.models: unknown name 'answer' (did you mean 'answers'?); expected one of answers",
        ),
        (
            "run/datasets",
            ["religon"],
            "run.datasets: unknown name 'religon' (did you mean 'religion'?); expected one of",
        ),
        ("run/models", ["answers", "answers"], "run.models: 'answers' appears twice; expected every name once"),
        (
            "inference/precision",
            "bfloat61",
            "inference.precision: 'bfloat61' (did you mean 'bfloat16'?); expected one of auto, bfloat16, float16, float32",
        ),
        ("scoring", "unqvoer", "scoring: 'unqvoer' (did you mean 'unqover'?); expected one of exact, unqover"),
        (
            "models/answers/task",
            "fill-masks",
            "'fill-masks' (did you mean 'fill-mask'?); expected one of feature-extraction, fill-mask",
        ),
        (
            "models/answers/variant",
            "qa-newsq",
            "run.models: 'answers' answers none of the selected datasets: there is no variant 'qa-newsq', only lm-bert, qa",
        ),
        ("run", None, "c.yaml, run: missing; expected the key 'run'"),
        ("models/answers/kind", None, "models.answers.kind: missing; expected the key 'kind'"),
        (
            "models/trained/train/synthetic",
            "strng",
            "models.trained.train.synthetic: unknown strength 'strng' (did you mean 'strong'?); expected one of none, strong",
        ),
        (
            "synthetic",
            None,
            "models.trained.train.synthetic: unknown strength 'strong'; expected a name, but there is none yet (synthetic.strengths)",
        ),
        (
            "datasets/religion/target_scoring",
            "pll-l2",
            "datasets.religion.target_scoring: 'pll-l2' (did you mean 'pll-l2r'?); expected one of joint, pll, pll-l2r",
        ),
        (
            "models/masked/variant",
            "lm-bret",
            "models.masked.variant: unknown tokenizer 'bret' (did you mean 'bert'?); expected one of bert (tokenizers)",
        ),
        (
            "datasets/religion/variants/lm-brt",
            {"templates": "t"},
            "variants.lm-brt: unknown tokenizer 'brt' (did you mean",
        ),
        (
            "tokenizers/bert/checkpoint",
            None,
            "tokenizers.bert: 'bert' has no `checkpoint` or `folder`, but filters the subjects",
        ),
        (
            "models/masked/revision",
            None,
            "models.masked: has task, variant, kind, label, checkpoint; expected `revision` exactly where",
        ),
        (
            "models/answers/folder",
            "x",
            "label, checkpoint, revision, folder; expected exactly one of `checkpoint`, `folder`",
        ),
        (
            "models/masked/task",
            "question-answering",
            "models.masked.variant: 'lm-bert' is not for the task 'question-answering'; expected one of qa",
        ),
        (
            "models/trained/train",
            {"data": "x"},
            "models.trained.train: has data; expected either `synthetic`, or both",
        ),
        (
            "validity",
            {"cluster": 3},
            "validity: unknown name 'cluster' (did you mean 'clusters'?); expected one of accuracy, at_chance, balance",
        ),
    ],
)
def test_a_fault_names_key_value_what_is_allowed_and_the_nearest(path: str, value: object, expected: str) -> None:
    faults = faults_of(changed(path, value))
    assert all(fault.startswith("c.yaml, ") for fault in faults)
    assert [fault for fault in faults if expected in fault] == faults[:1]


def test_a_trained_models_record_will_say_how_it_was_made() -> None:
    content = changed("synthetic/repeats", 3)
    content["models"]["tuned"] = content["models"]["trained"] | {
        "allow_pickle": True,
        "train": {"base": {"checkpoint": "org/base", "revision": "main"}, "data": "squad.json"},
    }
    config = parse_config(content, "c.yaml")
    training = config.source_of_model("trained")["training"]
    assert training["synthetic"] == {"strengths": {"strong": 0.9}, "repeats": 3, "seed": 1, "spread": 0}
    assert training["hyperparameters"]["seed"] == 3435
    assert config.source_of_model("masked")["training"] is None
    tuned = config.source_of_model("tuned")["training"]
    assert (tuned["base"]["checkpoint"], tuned["data"], tuned["synthetic"]) == ("org/base", "squad.json", None)
    base = {"checkpoint": "org/base", "revision": "main", "folder": None, "weights": True, "allow_pickle": True}
    assert config.source_of_base("tuned") == base


def test_training_runs_no_code_of_checkpoints() -> None:
    (fault,) = faults_of(changed("models/trained/allow_remote_code", True))
    assert (
        "models.trained: has task, variant, kind, label, train, allow_remote_code; expected no `allow_remote_code`"
        in fault
    )


@pytest.mark.parametrize("key", ["epochs", "learning_rate"])
def test_training_ends_and_has_a_finite_learning_rate(key: str) -> None:
    (fault,) = faults_of(changed("models/trained/train/hyperparameters", {key: float("inf")}))
    assert f"models.trained.train.hyperparameters.{key}: " in fault


@pytest.mark.parametrize("name", ["label", "train", "task", "checkpoint"])
def test_a_typo_in_a_model_that_is_named_like_a_key_is_one_fault(name: str) -> None:
    model = changed("title", "t")["models"]["masked"] | {"kin": "LM", "label": "another"}
    faults = faults_of(changed(f"models/{name}", model))
    assert len(faults) == 1
    assert f"models.{name}.kin: unknown key (did you mean 'kind'?); expected one of" in faults[0]


def test_the_files_of_unqovers_config_are_unqovers() -> None:
    """The names are those of the original's repository (its word lists beyond the golden ones are not at hand)."""
    config = parse_config(read_config(ROOT / "config/unqover.yaml"), "config/unqover.yaml")
    found = {
        path.relative_to("unqover/word_lists")
        for pair in config.selected_variants
        for path in config.files(*pair).paths()
    }
    suffixes = ("", "_bert", "_roberta")
    lists = ("female", "male", "country", "ethnicity", "religion")
    expected = {f"nouns/subjects/{name}{suffix}" for name in lists for suffix in suffixes}
    expected |= {
        f"slots/{name}_noact{lm}" for name in ("gender", "country", "ethnicity", "religion") for lm in ("", "_lm")
    }
    expected |= {
        f"activities/{name}" for name in ("occupation_rev1", "biased_country", "biased_ethnicity", "biased_religion")
    }
    assert {str(path) for path in found} == expected | {"fillers/newsqa"}


def test_an_impossible_pair_of_model_and_dataset_is_a_fault() -> None:
    assert faults_of(changed("datasets/religion/variants/qa", None)) == [
        "c.yaml, run.models: 'answers' answers none of the selected datasets: there is no variant 'qa', only lm-bert; "
        "expected a `variant` for underspecified datasets"
    ]


def test_with_target_scoring_no_tokenizer_filters_subjects() -> None:
    content = changed("datasets/religion/target_scoring", "pll")
    del content["tokenizers"]["bert"]["checkpoint"]
    config = parse_config(content, "c.yaml")
    assert config.question("masked", "religion").tokenizer is None
    assert config.question("masked", "religion").settings["target_scoring"] == "pll"
    assert "target_scoring" not in config.question("answers", "religion").settings
    assert faults_of(content | {"scoring": "unqover"}) == [
        "c.yaml, datasets.religion.target_scoring: 'pll', but `scoring: unqover` knows words of one token alone; expected `scoring: exact`, or no `target_scoring`"
    ]


def test_clusters_without_a_pronoun_are_a_fault() -> None:
    content = changed("datasets/religion/pronouns", {"female": "she"}) | {"word_lists": str(ROOT / "word_lists")}
    message = r"datasets.religion.pronouns: no pronoun for subjects without group in subjects/religion.txt; expected a pronoun for the group"
    with pytest.raises(InputError, match=message):
        load_word_lists(parse_config(content, "c.yaml"))


def test_all_faults_are_found_at_once() -> None:
    content = changed("models/answers/foldr", "x") | {"scoring": "x", "inference": {"token_budget": 0}}
    assert len(faults_of(content)) == 3
    content = changed("run/models", ["x", "y"])
    content["models"]["masked"]["variant"] = "lm-z"
    assert len(faults_of(content)) == 3


@pytest.mark.parametrize("folder", ["results/small", "results/small/", "./results//small"])
def test_the_folder_of_results_has_one_spelling(folder: str) -> None:
    assert parse_config(CONTENT | {"results": folder}, "c.yaml").results == "results/small"


@pytest.mark.parametrize("name", ["config", "demo", "fairness", "unqover"])
def test_our_configs_have_no_faults(name: str) -> None:
    config = parse_config(read_config(ROOT / "config" / f"{name}.yaml"), name)
    assert len(list(config.cells())) == {"config": 60, "demo": 52, "fairness": 26, "unqover": 60}[name]


def test_limits_of_validity_flags_are_the_configs() -> None:
    config = parse_config(changed("validity", {"clusters": 2}), "c.yaml")
    limits = MetricDefinitions.of(config.measures_of("religion")).limits
    assert (limits["clusters"].value, limits["unknown_tokens"].value) == (2, 0.1)


def test_the_schema_is_in_step_with_the_code() -> None:
    schema = (ROOT / "workflow" / "schemas" / "config.schema.json").read_text()
    assert schema == json.dumps(config_schema(), indent=2) + "\n", (
        "the config has changed: run `biasgrid schema --write .`"
    )


def test_a_model_that_answers_nothing_is_one_fault() -> None:
    content = dict(read_config(ROOT / "config" / "fairness.yaml"))
    name = next(name for name, model in content["models"].items() if model["task"] == "text-classification")
    content["models"][name]["labels"] = {"one": "ONE", "two": "TWO"}
    content["run"] = {"models": [name], "datasets": [*content["datasets"]]}
    with pytest.raises(InputError) as caught:
        parse_config(content, "c.yaml")
    (fault,) = caught.value.faults
    assert fault.problem == f"{name!r} answers none of the selected datasets"
