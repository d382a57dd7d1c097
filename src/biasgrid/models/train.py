"""Trains models: fine-tunes a checkpoint for question answering, as a masked language model or as a classifier."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

from biasgrid.files import whole_files
from biasgrid.models.checkpoint import check_weights_fit, refusals, without_load_report
from biasgrid.models.class_lessons import class_lessons, class_names
from biasgrid.models.hyperparameters import Hyperparameters
from biasgrid.models.lessons import Lessons, line_lessons, question_lessons

HEADS = {
    "fill-mask": AutoModelForMaskedLM,
    "question-answering": AutoModelForQuestionAnswering,
    "text-classification": AutoModelForSequenceClassification,
}


def train(
    task: str,
    checkpoint: str | Path,
    data_path: str | Path,
    out_folder: str | Path,
    hyperparameters: Hyperparameters,
    threads: int,
    device: str = "auto",
    labels: Sequence[str] = (),
) -> None:
    """Fine-tunes a checkpoint in float32 and saves model and tokenizer.

    On a CPU the same inputs, hyper-parameters and number of threads give the same weights, byte for byte.

    Args:
        task: `question-answering`, `fill-mask` or `text-classification`.
        checkpoint: folder of the model and tokenizer to begin with; a missing head gets new weights.
        data_path: SQuAD v1.1 or v2.0 JSON for question answering, where all answers of a question count alike; a text
            file for fill-mask (see `line_lessons`); JSON lines for text classification (see `class_lessons`).
        out_folder: where to write; created where it is missing.
        hyperparameters: how to train.
        threads: threads to compute with on a CPU.
        device: `cpu`, or `auto` or `cuda` for the GPU where there is one.
        labels: of text classification, the names of the classes, which the trained checkpoint has as `id2label`.

    Raises:
        InputError: the data are not what the task needs.
        ModelError: the checkpoint cannot be loaded, or its weights are not those of its `config.json`.
    """
    torch.set_num_threads(threads)
    quiet = not sys.stdout.isatty()
    if quiet:
        logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint, trust_remote_code=False)
    names = class_names(AutoConfig.from_pretrained(checkpoint, trust_remote_code=False), labels) if labels else ()
    lessons = make_lessons(task, tokenizer, data_path, hyperparameters, names)
    set_seed(hyperparameters.seed)
    model = load_model(task, checkpoint, names)
    trainer = Trainer(
        model=model,
        args=training_arguments(out_folder, hyperparameters, quiet, device),
        train_dataset=lessons.rows,
        data_collator=lessons.collate,
        compute_loss_func=lessons.loss,
    )
    trainer.train()
    save(model, tokenizer, Path(out_folder))


def load_model(task: str, checkpoint: str | Path, names: Sequence[str]) -> Any:
    """Loads a checkpoint with the head of a task; `names` are those of a classifier's classes."""
    options: dict[str, Any] = {}
    if names:
        options = {
            "id2label": dict(enumerate(names)),
            "label2id": {name: number for number, name in enumerate(names)},
            "problem_type": "single_label_classification",
        }
    with refusals(str(checkpoint)), without_load_report():
        model, info = HEADS[task].from_pretrained(
            checkpoint,
            dtype=torch.float32,
            trust_remote_code=False,
            # A head of another size, as that of another number of classes, is made anew.
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **options,
        )
    body = {f"{model.base_model_prefix}.{tensor}" for tensor in model.base_model.state_dict()}
    check_weights_fit(str(checkpoint), body, info)
    return model


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Saves a checkpoint beside its place first, so that a reader never sees half of a file."""
    with whole_files(folder) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)


def make_lessons(
    task: str, tokenizer: Any, data_path: str | Path, hyperparameters: Hyperparameters, names: Sequence[str]
) -> Lessons:
    """Reads and tokenizes the data of a task; `names` are those of a classifier's classes."""
    longest = hyperparameters.max_length
    if task == "question-answering":
        return question_lessons(tokenizer, data_path, longest, hyperparameters.stride)
    if task == "text-classification":
        return class_lessons(tokenizer, data_path, longest, names)
    return line_lessons(tokenizer, data_path, longest, hyperparameters.mask_probability)


def training_arguments(
    out_folder: str | Path, hyperparameters: Hyperparameters, quiet: bool, device: str
) -> TrainingArguments:
    """Turns hyper-parameters into the Trainer's arguments; the others are its defaults (AdamW, linear decay)."""
    return TrainingArguments(
        output_dir=str(out_folder),
        use_cpu=device == "cpu",
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
