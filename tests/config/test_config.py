import json
from pathlib import Path

import pytest
from small_config import GENERAL, changed, faults_of

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config, read_config
from biasgrid.config.docs import config_schema

ROOT = Path(__file__).parents[2]
CLUSTERS = "expected auto, none, or lists of template numbers from 0, such as [[0, 1], [2, 3]]"
pytestmark = pytest.mark.usefixtures("general")


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "infrence",
            {},
            (
                "c.yaml, infrence: unknown key (did you mean 'inference'?); expected one of "
                "comparison, datasets"
            ),
        ),
        (
            "inference/precison",
            "auto",
            "inference.precison: unknown key (did you mean 'precision'?); expected one of device",
        ),
        (
            "models/answers/foldr",
            "x",
            "models.answers.foldr: unknown key (did you mean 'folder'?); expected one of",
        ),
        (
            "models/trained/train/hyperparameters",
            {"epoch": 2},
            (
                "models.trained.train.hyperparameters.epoch: unknown key (did you mean "
                "'epochs'?); expected one of batch_size"
            ),
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
        (
            "run/models",
            ["answers", "answers"],
            "run.models: 'answers' appears twice; expected each name once",
        ),
        (
            "inference/precision",
            "bfloat61",
            (
                "inference.precision: 'bfloat61' (did you mean 'bfloat16'?); expected one of "
                "auto, bfloat16, float16, float32"
            ),
        ),
        (
            "scoring",
            "unqvoer",
            "scoring: 'unqvoer' (did you mean 'unqover'?); expected one of exact, unqover",
        ),
        (
            "models/answers/task",
            "fill-masks",
            (
                "'fill-masks' (did you mean 'fill-mask'?); expected one "
                "of feature-extraction, fill-mask"
            ),
        ),
        ("run", None, "c.yaml, run: missing; expected the key 'run'"),
        ("models/answers/kind", None, "models.answers.kind: missing; expected the key 'kind'"),
        (
            "models/trained/train/synthetic",
            "strng",
            (
                "models.trained.train.synthetic: unknown strength 'strng' (did you mean "
                "'strong'?); expected one of none, strong"
            ),
        ),
        (
            "synthetic",
            None,
            (
                "models.trained.train.synthetic: unknown strength 'strong'; expected a name, but "
                "none is defined yet (synthetic.strengths)"
            ),
        ),
        (
            "models/masked/revision",
            None,
            (
                "models.masked: has task, variant, kind, label, checkpoint; expected `revision` "
                "together with"
            ),
        ),
        (
            "models/answers/folder",
            "x",
            "label, checkpoint, revision, folder; expected exactly one of `checkpoint`, `folder`",
        ),
        (
            "models/trained/train",
            {"data": "x"},
            "models.trained.train: has data; expected either `synthetic`, or both",
        ),
    ],
)
def test_a_fault_names_key_value_what_is_allowed_and_the_nearest(
    path: str, value: object, expected: str
) -> None:
    faults = faults_of(changed(path, value, GENERAL))
    assert all(fault.startswith("c.yaml, ") for fault in faults)
    assert [fault for fault in faults if expected in fault] == faults[:1]


def test_a_trained_models_record_will_say_how_it_was_made() -> None:
    content = changed("synthetic/repeats", 3, GENERAL)
    content["models"]["tuned"] = content["models"]["trained"] | {
        "allow_pickle": True,
        "train": {"base": {"checkpoint": "org/base", "revision": "main"}, "data": "squad.json"},
    }
    config = parse_config(content, "c.yaml")
    training = config.model_record_arguments("trained")["training"]
    assert training["synthetic"] == {
        "strengths": {"strong": 0.9},
        "repeats": 3,
        "seed": 1,
        "spread": 0,
    }
    assert training["hyperparameters"]["seed"] == 3435
    assert config.model_record_arguments("masked")["training"] is None
    tuned = config.model_record_arguments("tuned")["training"]
    assert (tuned["base"]["checkpoint"], tuned["data"], tuned["synthetic"]) == (
        "org/base",
        "squad.json",
        None,
    )
    base = {
        "checkpoint": "org/base",
        "revision": "main",
        "folder": None,
        "weights": True,
        "allow_pickle": True,
    }
    assert config.base_record_arguments("tuned") == base


def test_training_runs_no_code_of_checkpoints() -> None:
    (fault,) = faults_of(changed("models/trained/allow_remote_code", True, GENERAL))
    assert (
        "models.trained: has task, variant, kind, label, train, allow_remote_code; expected "
        "no `allow_remote_code`"
    ) in fault


@pytest.mark.parametrize("key", ["epochs", "learning_rate"])
def test_training_ends_and_has_a_finite_learning_rate(key: str) -> None:
    (fault,) = faults_of(
        changed("models/trained/train/hyperparameters", {key: float("inf")}, GENERAL)
    )
    assert f"models.trained.train.hyperparameters.{key}: " in fault


@pytest.mark.parametrize("name", ["label", "train", "task", "checkpoint"])
def test_a_typo_in_a_model_that_is_named_like_a_key_is_one_fault(name: str) -> None:
    model = changed("title", "t", GENERAL)["models"]["masked"] | {"kin": "LM", "label": "another"}
    faults = faults_of(changed(f"models/{name}", model, GENERAL))
    assert len(faults) == 1
    assert f"models.{name}.kin: unknown key (did you mean 'kind'?); expected one of" in faults[0]


def test_all_faults_are_found_at_once() -> None:
    content = changed("models/answers/foldr", "x", GENERAL) | {
        "scoring": "x",
        "inference": {"token_budget": 0},
    }
    assert len(faults_of(content)) == 3
    content = changed("run/models", ["x", "y"], GENERAL)
    content["datasets"]["religion"]["control_of"] = "z"
    assert len(faults_of(content)) == 3


@pytest.mark.parametrize(
    ("value", "shown", "expected"),
    [
        ("all", "'all'", CLUSTERS),
        ([[0, -1]], "[[0, -1]]", CLUSTERS),
        ([[0, 1], [1, 2]], "[[0, 1], [1, 2]]", "expected each template in only one list"),
    ],
)
def test_clusters_that_are_none_are_refused(value: object, shown: str, expected: str) -> None:
    where = "c.yaml, datasets.religion.template_clusters:"
    assert faults_of(changed("datasets/religion/template_clusters", value, GENERAL)) == [
        f"{where} {shown}; {expected}"
    ]


@pytest.mark.parametrize("folder", ["results/small", "results/small/", "./results//small"])
def test_the_folder_of_results_has_one_spelling(folder: str) -> None:
    assert parse_config(GENERAL | {"results": folder}, "c.yaml").results == "results/small"


@pytest.mark.family("our grids ask all five")
@pytest.mark.parametrize("name", ["config", "demo", "demo-full", "fairness", "unqover"])
def test_our_configs_have_no_faults(name: str) -> None:
    config = parse_config(read_config(ROOT / "config" / f"{name}.yaml"), name)
    assert (
        len(list(config.cells()))
        == {"config": 60, "demo": 22, "demo-full": 52, "fairness": 26, "unqover": 60}[name]
    )


@pytest.mark.family("the schema describes the datasets of all five")
def test_the_schema_is_in_step_with_the_code() -> None:
    schema = (ROOT / "workflow" / "schemas" / "config.schema.json").read_text()
    assert schema == json.dumps(config_schema(), indent=2) + "\n", (
        "the config has changed: run `biasgrid schema --write .`"
    )


@pytest.mark.family("our grid of classifiers asks cases")
def test_a_model_that_answers_nothing_is_one_fault() -> None:
    content = dict(read_config(ROOT / "config" / "fairness.yaml"))
    name = next(
        name for name, model in content["models"].items() if model["task"] == "text-classification"
    )
    content["models"][name]["labels"] = {"one": "ONE", "two": "TWO"}
    content["run"] = {"models": [name], "datasets": [*content["datasets"]]}
    with pytest.raises(InputError) as caught:
        parse_config(content, "c.yaml")
    (fault,) = caught.value.faults
    assert fault.problem == f"{name!r} answers none of the selected datasets"


def test_a_font_that_is_not_installed_is_a_fault_before_anything_is_measured() -> None:
    (fault,) = faults_of(changed("report", {"font": "DejaVu Sanz"}, GENERAL))
    assert fault.startswith(
        "c.yaml, report.font: 'DejaVu Sanz' is not installed (did you mean "
        "'DejaVu Sans'?); expected"
    )
    parse_config(
        changed("report", {"font": "DejaVu Serif", "figure_scale": 0.5}, GENERAL), "c.yaml"
    )
