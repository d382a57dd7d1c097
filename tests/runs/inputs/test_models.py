"""What the rules of models are given: where they come from, what they learn, and what they need of
the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import pytest
from project import ROOT
from small_config import OF_ALL
from small_grid import ANSWERING, general_inputs, inputs_of, job

from biasgrid.config import Config, load_config, parse_config
from biasgrid.runs.inputs.models import ModelInputs

BASE = {"checkpoint": "some/base", "revision": "main"}
HYPERPARAMETERS = {
    "epochs": 1,
    "learning_rate": 0.001,
    "batch_size": 8,
    "max_length": 64,
    "stride": 16,
}


@pytest.fixture(scope="module")
def demo() -> ModelInputs:
    """The demo, whose models learn synthetic bias."""
    return ModelInputs(inputs_of(load_config(ROOT / "config/demo-full.yaml")))


def servers(device: str = "auto") -> Config:
    """A config of a model behind an endpoint, of two that are served, and of one on a GPU."""
    model = {"task": "text-generation", "variant": "llm", "kind": "API"}
    served = {"serve": {"command": "vllm serve {folder} --port {port}", "gpus": 4}, **BASE}
    sources = {
        "hosted": {"endpoint": {"url": "https://host/v1", "model": "large"}},
        "served": served,
        "local": BASE,
    }
    models = {name: model | {"label": name} | source for name, source in sources.items()}
    dataset = OF_ALL["datasets"]["religion"]
    content = OF_ALL | {"results": "out", "inference": {"device": device}, "models": models}
    datasets = {"statements": dataset, "more": dataset}
    return parse_config(
        content
        | {"datasets": datasets, "run": {"models": list(models), "datasets": list(datasets)}},
        "c",
    )


@pytest.mark.usefixtures("general")
def test_jobs_at_one_endpoint_or_served_cell_take_turns() -> None:
    models = ModelInputs(inputs_of(servers()))
    needs = models.mutexes()
    assert list(needs) == models.inputs.mutexes

    def needed(model: str, **names: str) -> list[str]:
        return [mutex for mutex, need in needs.items() if need(job(model=model, **names))]

    # The endpoint, two served cells, and the served model while its capabilities are found out,
    # without a dataset.
    assert len(needs) == 4
    assert (
        needed("hosted", dataset="statements")
        == needed("hosted", dataset="more")
        == needed("hosted")
    )
    assert len(needed("hosted")) == 1
    assert needed("served", dataset="statements") != needed("served", dataset="more")
    assert needed("local", dataset="statements") == []


@pytest.mark.usefixtures("general")
def test_gpus_are_asked_for_only_where_there_are_any() -> None:
    of_gpu, of_cpu = (ModelInputs(inputs_of(servers(device))) for device in ("cuda", "cpu"))
    assert [of_gpu.gpus(job(model=model)) for model in ("hosted", "served", "local")] == [0, 4, 1]
    assert [of_cpu.gpus(job(model=model)) for model in ("hosted", "served", "local")] == [0, 0, 0]


@pytest.mark.usefixtures("general")
def test_capabilities_are_found_out_by_the_code_of_the_back_end() -> None:
    models = ModelInputs(inputs_of(servers()))
    assert models.probe_reference(job(model="hosted")).endswith("servers.capabilities:PROBE")
    assert len(models.probe_code(job(model="hosted"))) == 16
    assert "endpoint" in models.deciding_keys(job(model="hosted"))


@pytest.mark.family("the demo asks all five, each of which can be put in")
def test_a_trained_model_is_recorded_with_the_facts_of_its_training(demo: ModelInputs) -> None:
    folder = demo.layout.trained_model("weak-qa")
    files = {"files": folder / "model.safetensors", "training": folder / "training.json"}
    assert demo.record_files(job(record_kind="models", name="weak-qa")) == files
    assert demo.record_source(job(record_kind="models", name="weak-qa"))["folder"] == str(folder)


@pytest.mark.family("the demo asks all five, each of which can be put in")
def test_models_of_synthetic_bias_learn_all_corpora_of_their_strength(demo: ModelInputs) -> None:
    files = demo.training_files(job(model="weak-qa"))
    datasets = demo.grid.training_datasets("weak-qa")
    assert files["data"] == [demo.layout.synthetic(dataset) / "weak" for dataset in datasets]
    assert files["words"] == [demo.layout.synthetic(dataset) / "words.json" for dataset in datasets]
    assert demo.training_corpus(job(model="weak-qa")) == "question-answering.json"
    assert demo.base_source(job(model="weak-qa")) is None
    assert list((demo.training(job(model="weak-qa")) or {})["synthetic"]["strengths"]) == ["weak"]
    assert demo.training_labels(job(model="strong-sentiment")) == ["negative", "positive"]


@pytest.mark.family("the demo asks all five, each of which can be put in")
def test_corpora_are_made_of_what_their_learners_are_asked(demo: ModelInputs) -> None:
    gender = job(dataset="gender")
    corpora = {"question-answering": "question-answering.json", "fill-mask": "fill-mask.txt"}
    assert corpora.items() <= demo.dataset_corpora(gender).items()
    assert len(demo.synthetic_instances(gender)) == len(demo.dataset_corpora(gender))
    assert demo.dataset_labels(gender) == []
    assert demo.dataset_labels(job(dataset="sentiment"))
    assert demo.strengths() == ["none", "weak", "strong"]


@pytest.mark.family("the demo asks all five, each of which can be put in")
def test_a_control_has_nothing_to_be_found(demo: ModelInputs) -> None:
    of_bias, of_control = (
        demo.synthetic_bias(job(dataset=dataset)) or {} for dataset in ("gender", "placebo")
    )
    assert of_bias["strengths"]["strong"]["group"] == 0.7
    learned = [
        each if isinstance(each, float) else each["group"] + each["name"]
        for each in of_control["strengths"].values()
    ]
    assert set(learned) == {0.0}
    assert of_bias | {"strengths": None} == of_control | {"strengths": None}


def test_a_model_that_is_trained_further_waits_for_the_record_of_its_base(tmp_path: Path) -> None:
    data = tmp_path / "squad.json"
    data.write_text("{}")
    train = {"data": str(data), "base": BASE, "hyperparameters": HYPERPARAMETERS}
    models = {"one": ANSWERING | {"label": "one", "train": train}}
    inputs = general_inputs(
        tmp_path, results="out", models=models, run={"models": ["one"], "datasets": ["people"]}
    )
    own = ModelInputs(inputs)
    base = Path("out/bases/one.json")
    assert own.training_files(job(model="one")) == {"data": str(data), "base": base}
    assert own.record_files(job(record_kind="models", name="one"))["base"] == base
    assert (own.base_source(job(model="one")) or {})["checkpoint"] == "some/base"
    assert own.record_source(job(record_kind="bases", name="one"))["checkpoint"] == "some/base"
    assert own.strengths() == []


def test_files_in_a_folder_are_inputs_and_files_of_the_hub_are_not(
    tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]
) -> None:
    checkpoint = copytree(tiny_checkpoint("bert", "question-answering"), tmp_path / "checkpoint")
    (checkpoint / "README.md").write_text("It answers.")
    of_folder = ModelInputs(general_inputs(tmp_path / "near", checkpoint=str(checkpoint)))
    found = [
        Path(file).name
        for file in of_folder.record_files(job(record_kind="models", name="one"))["files"]
    ]
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(found)
    assert "README.md" not in found
    assert of_folder.source(job(model="one"))["folder"] == str(checkpoint)
    of_hub = ModelInputs(general_inputs(tmp_path / "far"))
    assert of_hub.record_files(job(record_kind="models", name="one")) == {"files": []}
    assert of_hub.record_source(job(record_kind="tokenizers", name="tiny"))["weights"] is False
