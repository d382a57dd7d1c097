"""Trains models: fine-tunes a checkpoint for question answering or as a masked language model."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

from biasgrid.models.lessons import Lessons, line_lessons, question_lessons

HEADS = {"fill-mask": AutoModelForMaskedLM, "question-answering": AutoModelForQuestionAnswering}


@dataclass(frozen=True)
class Hyperparameters:
    """How to train; the defaults are those of UnQover's SQuAD models (transformers' run_squad).

    Attributes:
        max_length: longest sequence, in tokens with the special ones; longer contexts are cut into windows.
        stride: tokens that a window shares with the one before it (question answering).
        batch_size: sequences per step and device.
        learning_rate: the first one; it falls to zero in a straight line.
        epochs: passes over the data.
        seed: seed of new weights, of the order of the data, of dropout and of random masks.
        mask_probability: share of tokens to predict in plain lines (fill-mask).
    """

    max_length: int = 384
    stride: int = 128
    batch_size: int = 20
    learning_rate: float = 3e-5
    epochs: float = 2
    seed: int = 3435
    mask_probability: float = 0.15


def train(
    task: str,
    checkpoint: str | Path,
    data_path: str | Path,
    out_folder: str | Path,
    hyperparameters: Hyperparameters,
    threads: int,
) -> None:
    """Fine-tunes a checkpoint and saves model and tokenizer.

    On a CPU the same inputs, hyper-parameters and number of threads give the same weights, byte for byte.

    Args:
        task: `question-answering` or `fill-mask`.
        checkpoint: folder of the model and tokenizer to begin with; a missing head gets new weights.
        data_path: SQuAD v1.1 or v2.0 JSON for question answering, where all answers of a question count alike; a text
            file for fill-mask (see `line_lessons`).
        out_folder: where to write; created where it is missing.
        hyperparameters: how to train.
        threads: threads to compute with on a CPU.

    Raises:
        InputError: the data are not what the task needs.
    """
    torch.set_num_threads(threads)
    quiet = not sys.stdout.isatty()
    if quiet:
        logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    lessons = make_lessons(task, tokenizer, data_path, hyperparameters)
    set_seed(hyperparameters.seed)
    model = HEADS[task].from_pretrained(checkpoint)
    trainer = Trainer(
        model=model,
        args=training_arguments(out_folder, hyperparameters, quiet),
        train_dataset=lessons.rows,
        data_collator=lessons.collate,
        compute_loss_func=lessons.loss,
    )
    trainer.train()
    model.save_pretrained(out_folder)
    tokenizer.save_pretrained(out_folder)


def make_lessons(task: str, tokenizer: Any, data_path: str | Path, hyperparameters: Hyperparameters) -> Lessons:
    """Reads and tokenizes the data of a task."""
    longest = hyperparameters.max_length
    if task == "question-answering":
        return question_lessons(tokenizer, data_path, longest, hyperparameters.stride)
    return line_lessons(tokenizer, data_path, longest, hyperparameters.mask_probability)


def training_arguments(out_folder: str | Path, hyperparameters: Hyperparameters, quiet: bool) -> TrainingArguments:
    """Turns hyper-parameters into the Trainer's arguments; the others are its defaults (AdamW, linear decay)."""
    return TrainingArguments(
        output_dir=str(out_folder),
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
