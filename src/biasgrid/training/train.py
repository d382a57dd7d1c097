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
from biasgrid.base.files import each_file_whole
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
from biasgrid.training.class_data import class_data, order_classes
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
        checkpoint: the folder of the model and tokenizer to start from; a missing head gets random
            weights.
        data_paths: files of training data, concatenated; they must have one form. The task decides
            their format: see `question_data`, `line_data`, `class_data` and `text_data`.
        out_folder: the folder to write to; created if it is missing.
        hyperparameters: settings of the training.
        threads: the number of threads on a CPU.
        device: `cpu`, `cuda`, or `auto` for the GPU if there is one.
        labels: the names of a classifier's classes, which become the `id2label` of the trained
            checkpoint; empty for other tasks.

    Returns:
        The device that it was trained on: the GPU's model, or `cpu`.

    Raises:
        InputError: the data do not fit the task, are too long for the model, or differ in form.
        ModelError: the checkpoint cannot be loaded or trained, its weights do not match its
            `config.json`, or the device is `cuda` and there is no GPU.
    """
    chosen_device = choose_device(device)
    torch.set_num_threads(threads)
    is_quiet = not sys.stdout.isatty()
    if is_quiet:
        logging.disable_progress_bar()
    tokenizer = load_training_tokenizer(task, checkpoint)
    class_names = load_class_names(checkpoint, labels) if labels else ()
    parts = [
        make_training_data(task, tokenizer, path, hyperparameters, class_names)
        for path in data_paths
    ]
    check_forms(dict(zip(data_paths, parts, strict=True)))
    # Random weights of a new head are drawn when the model is loaded.
    set_seed(hyperparameters.seed)
    model = load_model_to_train(task, checkpoint, class_names)
    rows: list[Mapping[str, Any]] = []
    for path, part in zip(data_paths, parts, strict=True):
        check_sequence_lengths(part.rows, longest_input(model, tokenizer), path)
        rows += part.rows
    on_cpu = chosen_device.type == "cpu"
    trainer = Trainer(
        model=model,
        args=training_arguments(out_folder, hyperparameters, is_quiet=is_quiet, on_cpu=on_cpu),
        train_dataset=rows,
        data_collator=parts[0].collate,
        compute_loss_func=parts[0].loss,
    )
    trainer.train()
    save_checkpoint(model, tokenizer, Path(out_folder))
    return device_name(chosen_device)


def load_training_tokenizer(task: str, checkpoint: str | Path) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a checkpoint to train.

    Raises:
        ModelError: see `read_tokenizer`; or it lacks a special token that the task needs.
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


def check_forms(parts: Mapping[str | Path, TrainingData]) -> None:
    """Refuses files that differ in form, because a training has one collator and one loss.

    The form can depend on the content: a single tab makes a text file one of prompts.

    Args:
        parts: the training data of each file; at least one.

    Raises:
        InputError: with each file that differs from the first one.
    """
    (primary_path, primary), *others = parts.items()
    faults = []
    for path, part in others:
        if part.form != primary.form:
            problem = f"contains {part.form}, but {primary_path} contains {primary.form}"
            faults.append(Fault(str(path), "", problem, "files of one form"))
    if faults:
        raise InputError(faults)


def load_class_names(checkpoint: str | Path, labels: Sequence[str]) -> list[str]:
    """Returns the names of the classes of a checkpoint to train, in the order of `order_classes`.

    Raises:
        ModelError: the checkpoint's config cannot be loaded.
    """
    with loading_errors(str(checkpoint)):
        config = AutoConfig.from_pretrained(checkpoint, trust_remote_code=False)
    return order_classes(config, labels)


def load_model_to_train(task: str, checkpoint: str | Path, class_names: Sequence[str]) -> Any:
    """Loads a checkpoint with the head of a task.

    Weights of a new head are random, so the seed must be set before.

    Args:
        task: the task.
        checkpoint: the folder of the checkpoint.
        class_names: the names of a classifier's classes 0, 1, ...; empty for other tasks.

    Raises:
        ModelError: the checkpoint cannot be loaded, its weights do not match its `config.json`, or
            lack a part of the model below the head.
    """
    classes: dict[str, Any] = {}
    if task == "text-classification":
        classes = {
            "id2label": dict(enumerate(class_names)),
            "label2id": {name: number for number, name in enumerate(class_names)},
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
            # A head for another number of classes is replaced by a new one.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **classes,
        )
    body = {f"{model.base_model_prefix}.{tensor}" for tensor in model.base_model.state_dict()}
    check_weights_fit(str(checkpoint), body, info)
    check_body(str(checkpoint), body, info["missing_keys"])
    return model


def check_body(name: str, body: set[str], missing: Iterable[str]) -> None:
    """Refuses a checkpoint that lacks weights of the model below its head.

    It is of another architecture, and they would start at random. A missing head or pooler is
    trained anew.

    Args:
        name: the checkpoint's name.
        body: names of the tensors below the head.
        missing: names of the model's tensors that the checkpoint does not have.

    Raises:
        ModelError: with the first of them.
    """
    # Masked language models have no pooler, which classifiers have between body and head.
    lacking = sorted(tensor for tensor in body.intersection(missing) if ".pooler." not in tensor)
    if lacking:
        raise ModelError(
            f"{name}: the weights do not match config.json ({len(lacking)} of {len(body)} tensors "
            f"are missing, such as {lacking[0]}, and would start with random values); expected "
            "both from the same model"
        )


def check_sequence_lengths(
    rows: Sequence[Mapping[str, Any]], limit: int, data_path: str | Path
) -> None:
    """Refuses rows with more tokens than the model has positions.

    Args:
        rows: the rows of a file, at least one.
        limit: the number of positions.
        data_path: the file, for the message.

    Raises:
        InputError: with the length of the longest row.
    """
    longest = max(len(row["input_ids"]) for row in rows)
    if longest > limit:
        problem = f"a sequence has {longest} tokens, but the model has positions for only {limit}"
        expected = f"hyperparameters.max_length of at most {limit}"
        raise InputError([Fault(str(data_path), "", problem, expected)])


def save_checkpoint(model: Any, tokenizer: Any, folder: Path) -> None:
    """Saves a model and its tokenizer to a folder, which is made if it is missing.

    No file is ever seen half-written, but old and new files may be seen together while they move;
    see `each_file_whole`, also for errors and what the folder must be.
    """
    with each_file_whole(folder) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)


def make_training_data(
    task: str,
    tokenizer: Any,
    data_path: str | Path,
    hyperparameters: Hyperparameters,
    class_names: Sequence[str],
) -> TrainingData:
    """Reads and tokenizes a file of the data of a task; `class_names` is for classifiers only."""
    longest = hyperparameters.max_length
    if task == "question-answering":
        return question_data(tokenizer, data_path, longest, hyperparameters.stride)
    if task == "text-classification":
        return class_data(tokenizer, data_path, longest, class_names)
    if task == "text-generation":
        return text_data(tokenizer, data_path, longest)
    return line_data(tokenizer, data_path, longest, hyperparameters.mask_probability)


def training_arguments(
    out_folder: str | Path, hyperparameters: Hyperparameters, *, is_quiet: bool, on_cpu: bool
) -> TrainingArguments:
    """Converts hyper-parameters to the Trainer's arguments; all others keep their defaults.

    The defaults are AdamW with linear decay.
    """
    return TrainingArguments(
        output_dir=str(out_folder),
        use_cpu=on_cpu,
        per_device_train_batch_size=hyperparameters.batch_size,
        learning_rate=hyperparameters.learning_rate,
        num_train_epochs=hyperparameters.epochs,
        seed=hyperparameters.seed,
        save_strategy="no",
        logging_strategy="no" if is_quiet else "steps",
        disable_tqdm=is_quiet,
        report_to="none",
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )
