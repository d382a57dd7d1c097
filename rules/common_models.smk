# What the rules of models.smk share: where checkpoints lie, and what models are trained on.

from biasgrid.models.checkpoint_files import files_that_count


def source_of_model(wildcards):
    """Where a model's files are, and which of them are needed."""
    return grid.source_of_model(wildcards.model)


def source_of_base(wildcards):
    """Where the files are of the checkpoint that a model's training starts from."""
    return grid.source_of_base(wildcards.model)


def base_record(wildcards):
    """The record of the checkpoint that a model's training starts from, none for models without one."""
    train = grid.models[wildcards.model].train
    return f"<results>/bases/{wildcards.model}.json" if train and train.base else []


def facts_of_training(wildcards):
    """What a model was trained on and by what, none for models that are not trained."""
    return f"<results>/trained/{wildcards.model}/training.json" if grid.models[wildcards.model].train else []


def source_of_tokenizer(wildcards):
    """Where a tokenizer's files are, and which of them are needed."""
    return grid.source_of_tokenizer(wildcards.tokenizer)


def local_files(source):
    """The files that count of a checkpoint in a folder, so that changed ones are noticed; none of one on the hub."""
    if source["folder"] is None:
        return []
    allowed = {key: source.get(key, False) for key in ("allow_pickle", "allow_remote_code")}
    return files_that_count(source["folder"], source["weights"], **allowed)


def files_of_model(wildcards):
    """The files of a model's checkpoint, where it is trained or lies in a folder."""
    if grid.models[wildcards.model].train:
        return f"<results>/trained/{wildcards.model}/model.safetensors"
    return local_files(source_of_model(wildcards))


def files_of_base(wildcards):
    """The files of the checkpoint that a model's training starts from, where it lies in a folder."""
    return local_files(source_of_base(wildcards))


def files_of_tokenizer(wildcards):
    """The files of a tokenizer, where it lies in a folder."""
    return local_files(source_of_tokenizer(wildcards))


def planted_strengths():
    """The strengths of planted bias, by name."""
    return list(grid.planted.strengths) if grid.planted else []


def planted_models():
    """The selected models that are trained on the planted corpora of the underspecified family, by name."""
    training = {name: grid.models[name].train for name in grid.run.models}
    return [name for name, train in training.items() if train and train.planted and not train.dataset]


def planted_cells():
    """Model and dataset of the selected classifiers' cells whose cases they have learned a planted corpus of."""
    training = {name: grid.models[name].train for name in grid.run.models}
    return [(model, of) for model, of in grid.group_cells() if training[model] and training[model].dataset == of]


def planted_tables_of_cases():
    """The group effects that are planted in the datasets of these cells."""
    return collect("<results>/planted_cases/{dataset}/planted.parquet", dataset=datasets_of(planted_cells()))


def planted_instances():
    """Dataset and variant, as `dataset/variant`, of the instances that planted corpora are made of."""
    cells = [(model, dataset) for model, dataset in grid.cells("underspecified") if model in planted_models()]
    return list(dict.fromkeys(f"{dataset}/{grid.variant_of(model, dataset)}" for model, dataset in cells))


def training_inputs(wildcards):
    """The data that a model is trained on, and the checkpoint that it starts from or the record of it."""
    model = grid.models[wildcards.model]
    if model.train.dataset:
        folder = f"<results>/planted_cases/{model.train.dataset}"
        return dict(data=f"{folder}/{model.train.planted}.jsonl", base=f"{folder}/base/model.safetensors")
    if model.train.planted:
        ending = {"question-answering": "json", "fill-mask": "txt"}[model.task]
        return dict(
            data=f"<results>/planted/{model.train.planted}/{model.task}.{ending}",
            base="<results>/planted/base/model.safetensors",
        )
    return dict(data=model.train.data, base=base_record(wildcards))
