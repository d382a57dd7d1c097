"""Trains models: fine-tunes a checkpoint for question answering, as a masked or causal LM, or as a
classifier.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import whole_files
from biasgrid.base.sections import Hyperparameters
from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    check_weights_fit,
    loading_errors,
    read_tokenizer,
    without_load_report,
)
from biasgrid.inference.checkpoints.files import file_names
from biasgrid.inference.checkpoints.unsupported import quantisation
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.hardware import choose_device, device_name
from biasgrid.training.class_data import class_data, names_of_classes
from biasgrid.training.data import TrainingData, line_data, question_data
from biasgrid.training.text_data import text_data

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

HEADS = {
    "fill-mask": AutoModelForMaskedLM,
    "question-answering": AutoModelForQuestionAnswering,
    "text-classification": AutoModelForSequenceClassification,
    "text-generation": AutoModelForCausalLM,
}


def train(
    task: str,
    checkpoint: str | Path,
    data_paths: Sequence[str | Path],
    out_folder: str | Path,
    hyperparameters: Hyperparameters,
    threads: int,
    device: str = "auto",
    labels: Sequence[str] = (),
) -> str:
    """Fine-tunes a checkpoint in float32 and saves model and tokenizer.

    On a CPU the same inputs, hyper-parameters and number of threads give the same weights, byte for
    byte.

    Args:
        task: `question-answering`, `fill-mask`, `text-classification` or `text-generation`.
        checkpoint: folder of the model and tokenizer to begin with; a missing head gets new
            weights.
        data_paths: training data, one file behind the other: SQuAD v1.1 or v2.0 JSON for question
            answering, where all answers of a question count alike; text files for fill-mask (see
            `line_data`) and text generation (see `text_data`); JSON lines for text classification
            (see `class_data`).
        out_folder: folder to write to; created if it is missing.
        hyperparameters: settings of the training.
        threads: threads to compute with on a CPU.
        device: `cpu`, `cuda`, or `auto` for the GPU if there is one.
        labels: of text classification, the names of the classes, which the trained checkpoint has
            as `id2label`.

    Returns:
        The device that it was trained on: the GPU's model, or `cpu`.

    Raises:
        InputError: the data do not fit the task, or are too long for the model.
        ModelError: the checkpoint cannot be loaded or trained, its weights are not those of its
            `config.json`, or there is no GPU although one is asked for.
    """
    chosen_device = choose_device(device)
    torch.set_num_threads(threads)
    is_quiet = not sys.stdout.isatty()
    if is_quiet:
        logging.disable_progress_bar()
    tokenizer = load_training_tokenizer(task, checkpoint)
    names = load_names(checkpoint, labels) if labels else ()
    parts = [
        make_training_data(task, tokenizer, path, hyperparameters, names) for path in data_paths
    ]
    # New weights of a head are drawn as the model is loaded.
    set_seed(hyperparameters.seed)
    model = load_model_to_train(task, checkpoint, names)
    rows: list[Mapping[str, Any]] = []
    for path, part in zip(data_paths, parts, strict=True):
        check_sequence_lengths(part.rows, longest_input(model, tokenizer), path)
        rows += part.rows
    on_cpu = chosen_device.type == "cpu"
    trainer = Trainer(
        model=model,
        args=training_arguments(out_folder, hyperparameters, is_quiet, on_cpu),
        train_dataset=rows,
        data_collator=parts[0].collate,
        compute_loss_func=parts[0].loss,
    )
    trainer.train()
    save_checkpoint(model, tokenizer, Path(out_folder))
    return device_name(chosen_device)


def load_training_tokenizer(task: str, checkpoint: str | Path) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a checkpoint that is to be trained for a task.

    Raises:
        ModelError: see `read_tokenizer`; or it lacks a special token that training needs.
    """
    tokenizer = read_tokenizer(str(checkpoint), checkpoint, trust_remote_code=False)
    if tokenizer.pad_token is None and task != "text-generation":
        raise ModelError(
            f"{checkpoint}: the tokenizer has no pad token; expected a pad token, "
            "which batches need"
        )
    if task == "fill-mask" and tokenizer.mask_token is None:
        raise ModelError(
            f"{checkpoint}: the tokenizer has no mask token; expected the tokenizer of a masked "
            "language model"
        )
    return tokenizer


def load_names(checkpoint: str | Path, labels: Sequence[str]) -> list[str]:
    """Returns the names of the classes 0, 1, ... of the classifier that is trained.

    See `names_of_classes`.

    Raises:
        ModelError: the checkpoint's config cannot be loaded.
    """
    with loading_errors(str(checkpoint)):
        config = AutoConfig.from_pretrained(checkpoint, trust_remote_code=False)
    return names_of_classes(config, labels)


def load_model_to_train(task: str, checkpoint: str | Path, names: Sequence[str]) -> Any:
    """Loads a checkpoint with the head of a task.

    Args:
        task: the task.
        checkpoint: the folder of the checkpoint.
        names: the names of a classifier's classes; empty for other tasks.

    Raises:
        ModelError: it cannot be loaded, its weights are not those of its `config.json`, or it has
            none for a part of the model below the head.
    """
    options: dict[str, Any] = {}
    if names:
        options = {
            "id2label": dict(enumerate(names)),
            "label2id": {name: number for number, name in enumerate(names)},
            "problem_type": "single_label_classification",
        }
    quantised = quantisation(str(checkpoint), file_names(checkpoint), Path(checkpoint))
    if quantised:
        raise ModelError(f"{checkpoint} {quantised.problem}; expected {quantised.expected}")
    with loading_errors(str(checkpoint)), without_load_report():
        model, info = HEADS[task].from_pretrained(
            checkpoint,
            dtype=torch.float32,
            trust_remote_code=False,
            # A head of another size, such as one for another number of classes, is made anew.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **options,
        )
    body = {f"{model.base_model_prefix}.{tensor}" for tensor in model.base_model.state_dict()}
    check_weights_fit(str(checkpoint), body, info)
    check_body(str(checkpoint), body, info["missing_keys"])
    return model


def check_body(name: str, body: set[str], missing: Iterable[str]) -> None:
    """Refuses a checkpoint without weights for a part of the model below the head.

    It is of another architecture.

    Args:
        name: the checkpoint's name.
        body: names of the tensors below the head.
        missing: names of the model's tensors that the checkpoint does not have.

    Raises:
        ModelError: with the first of them.
    """
    # Masked language models come without the pooler, which stands between body and head of
    # classifiers.
    needed = sorted(tensor for tensor in body.intersection(missing) if ".pooler." not in tensor)
    if needed:
        raise ModelError(
            f"{name}: the weights do not match config.json ({len(needed)} of {len(body)} tensors "
            f"are missing, such as {needed[0]}, and would start with random values); expected "
            "both from the same model"
        )


def check_sequence_lengths(
    rows: Sequence[Mapping[str, Any]], limit: int, data_path: str | Path
) -> None:
    """Refuses a sequence of more tokens than the model has positions for.

    Raises:
        InputError: with the length of the longest one.
    """
    longest = max(len(row["input_ids"]) for row in rows)
    if longest > limit:
        problem = f"a sequence has {longest} tokens, but the model has positions for only {limit}"
        expected = f"hyperparameters.max_length of at most {limit}"
        raise InputError([Fault(str(data_path), "", problem, expected)])


def save_checkpoint(model: Any, tokenizer: Any, folder: Path) -> None:
    """Saves a checkpoint beside its place first, so that a reader never sees half of a file."""
    with whole_files(folder) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)


def make_training_data(
    task: str,
    tokenizer: Any,
    data_path: str | Path,
    hyperparameters: Hyperparameters,
    names: Sequence[str],
) -> TrainingData:
    """Reads and tokenizes the data of a task; `names` are the names of a classifier's classes."""
    longest = hyperparameters.max_length
    if task == "question-answering":
        return question_data(tokenizer, data_path, longest, hyperparameters.stride)
    if task == "text-classification":
        return class_data(tokenizer, data_path, longest, names)
    if task == "text-generation":
        return text_data(tokenizer, data_path, longest)
    return line_data(tokenizer, data_path, longest, hyperparameters.mask_probability)


def training_arguments(
    out_folder: str | Path, hyperparameters: Hyperparameters, quiet: bool, on_cpu: bool
) -> TrainingArguments:
    """Converts hyper-parameters to the Trainer's arguments.

    The others are its defaults (AdamW, linear decay).
    """
    return TrainingArguments(
        output_dir=str(out_folder),
        use_cpu=on_cpu,
        per_device_train_batch_size=hyperparameters.batch_size,
        learning_rate=hyperparameters.learning_rate,
        num_train_epochs=hyperparameters.epochs,
        seed=hyperparameters.seed,
        save_strategy="no",
        logging_strategy="no" if quiet else "steps",
        disable_tqdm=quiet,
        report_to="none",
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
