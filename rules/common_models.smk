# What rules share of models: where checkpoints lie, what they are trained on, whose turn it is, what GPUs they need, and
# who reads the texts of whom.

from biasgrid.inference.checkpoints.files import files_that_count
from biasgrid.training.corpora import CORPORA

SOURCES = {"models": grid.source_of_model, "bases": grid.source_of_base, "tokenizers": grid.source_of_tokenizer}


def source_of_record(wildcards):
    """Where the files of a checkpoint are, of which a record is made, and which of them are needed."""
    return SOURCES[wildcards.sort](wildcards.name)


# Params that a function makes of `input` are not compared: a record that changes runs jobs again by itself.
def source_of_asked(wildcards, input):
    """Where the config has the model from that is asked, which its record is compared with."""
    return grid.source_of_model(wildcards.model)


def source_of_own_base(wildcards, input):
    """Where the config has the checkpoint from that training starts from; none where it is made for the words."""
    return grid.source_of_base(wildcards.model) if grid.models[wildcards.model].train.base else None


def source_of_filter(wildcards, input):
    """Where the config has the tokenizer from that decides which subjects are kept; none where all are."""
    tokenizer = grid.needed_variants[wildcards.dataset, wildcards.variant].tokenizer
    return grid.source_of_tokenizer(tokenizer) if tokenizer else None


def local_files(source):
    """The files that count of a checkpoint in a folder, or of answers, so that changed ones are noticed; none of the hub."""
    if source.get("folder") is None:
        return source.get("files", [])
    allowed = {key: source.get(key, False) for key in ("allow_pickle", "allow_remote_code")}
    return files_that_count(source["folder"], source["weights"], **allowed)


def fetched_files(wildcards):
    """The files of a checkpoint where they are made or lie in a folder; of a trained one what is known of its training."""
    train = grid.models[wildcards.name].train if wildcards.sort == "models" else None
    if train is None:
        return dict(files=local_files(source_of_record(wildcards)))
    folder = layout.trained_model(wildcards.name)
    base = dict(base=layout.record("bases", wildcards.name)) if train.base else {}
    return dict(files=folder / "model.safetensors", training=folder / "training.json", **base)


def synthetic_strengths():
    """The strengths of synthetic bias, by name."""
    return list(grid.synthetic.strengths) if grid.synthetic else []


CHECKPOINT = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
"""The files of a trained model."""


def corpora_of_dataset(wildcards):
    """The files of a dataset's synthetic corpora, by task."""
    return {task: CORPORA[task] for task in grid.synthetic_variants(wildcards.dataset)}


def synthetic_instances(wildcards):
    """The instances of a dataset that synthetic corpora are made of, in the order of their tasks."""
    variants = grid.synthetic_variants(wildcards.dataset).values()
    return [layout.instances(wildcards.dataset, variant) for variant in variants]


def training_inputs(wildcards):
    """The data that a model is trained on, and the record of the checkpoint that it starts from.

    Models of synthetic bias start from a checkpoint that is made for them, of the words that they learn.
    """
    train = grid.models[wildcards.model].train
    if not train.synthetic:
        return dict(data=train.data, base=layout.record("bases", wildcards.model))
    folders = [layout.synthetic(dataset) for dataset in grid.learned_datasets(wildcards.model)]
    return dict(
        data=[folder / train.synthetic for folder in folders], words=[folder / "words.json" for folder in folders]
    )


def synthetic_in_dataset(wildcards):
    """How bias is put in in a dataset: in a control with no strength, so that there is nothing to find."""
    synthetic = grid.synthetic.model_dump() if grid.synthetic else None
    if synthetic and grid.datasets[wildcards.dataset].control_of:
        synthetic["strengths"] = dict.fromkeys(synthetic["strengths"], 0.0)
    return synthetic


def synthetic_cells():
    """Model and dataset of the selected cells whose model has learned the dataset, but for controls."""
    cells = [(model, of) for model, of in CELLS if not grid.datasets[of].control_of]
    return [(model, dataset) for model, dataset in cells if dataset in grid.learned_datasets(model)]


def synthetic_tables():
    """The known effect in the datasets of these cells."""
    datasets = dict.fromkeys(dataset for _, dataset in synthetic_cells())
    return [layout.synthetic(dataset) / "synthetic.parquet" for dataset in datasets]


def capabilities_of_cell(wildcards):
    """What was found out of what a cell's model can do; nothing where it writes texts, or nobody need look."""
    answer = grid.question(wildcards.model, wildcards.dataset).answer
    needed = answer == "choice" and back_end_of_cell(wildcards).look
    return layout.capabilities(wildcards.model) if needed else []


def gpus_of_model(wildcards):
    """How many GPUs a job of a model needs, where there are any."""
    return 0 if grid.inference.device == "cpu" else grid.models[wildcards.model].gpus


def turns_of_job():
    """Resources of which there is one each: jobs that need the same one run one after the other."""

    def needed(turn):
        return lambda wildcards: int(grid.turn(wildcards.model, wildcards.get("dataset", "")) == turn)

    return {turn: needed(turn) for turn in TURNS}


def predictions_of_writer(wildcards):
    """The predictions of a cell, whose texts another model reads."""
    return layout.predictions_of_cell(wildcards.dataset, wildcards.writer)


def scorers_of_cell(wildcards):
    """The kind of what each model that reads the texts of a cell says of them, and where."""
    dataset, writer = wildcards.dataset, wildcards.model
    kinds = grid.question(writer, dataset).scorers
    return {name: (kind, str(layout.scorer(dataset, writer, name).predictions)) for name, kind in kinds.items()}


def files_of_scorers(wildcards):
    """The texts of a cell, and what models that read them say of them; nothing where none does."""
    files = [file for _, file in scorers_of_cell(wildcards).values()]
    return [layout.texts(wildcards.dataset, wildcards.model), *files] if files else []
