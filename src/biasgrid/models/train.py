"""Trains models: fine-tunes a checkpoint on SQuAD-format questions or, as a masked language model, on lines of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

from biasgrid.faults import Fault, InputError, one_of
from biasgrid.models.squad import Question, read_squad

HEADS = {"fill-mask": AutoModelForMaskedLM, "question-answering": AutoModelForQuestionAnswering}


@dataclass(frozen=True)
class Hyperparameters:
    """How to train; the defaults are those of UnQover's SQuAD models (run_squad of transformers).

    Attributes:
        max_length: longest sequence, in tokens with the special ones; longer contexts are cut into windows.
        stride: tokens that a window shares with the one before it.
        batch_size: sequences per step and device.
        learning_rate: the first one; it falls to zero in a straight line.
        epochs: passes over the data.
        seed: seed of new weights, of the order of the data, of dropout and of the masks.
        mask_probability: fill-mask only, the share of tokens to predict.
    """

    max_length: int = 384
    stride: int = 128
    batch_size: int = 20
    learning_rate: float = 3e-5
    epochs: float = 2
    seed: int = 3435
    mask_probability: float = 0.15


class Features(Dataset[dict[str, Any]]):
    """Tokenized sequences in memory."""

    def __init__(self, rows: Sequence[dict[str, Any]]):
        self.rows = rows

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        """One sequence with its labels."""
        return self.rows[index]


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
        data_path: SQuAD v1.1 or v2.0 JSON for question answering, else text with one example a line.
        out_folder: where to write; created where it is missing.
        hyperparameters: how to train.
        threads: threads to compute with on a CPU.

    Raises:
        InputError: the task is unknown, or the data are not what the task needs.
    """
    if task not in HEADS:
        raise InputError([Fault("train", "task", f"is {task!r}", one_of(HEADS))])
    torch.set_num_threads(threads)
    quiet = not sys.stdout.isatty()
    if quiet:
        logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    features, collator = prepare(task, tokenizer, data_path, hyperparameters)
    set_seed(hyperparameters.seed)
    trainer = Trainer(
        model=HEADS[task].from_pretrained(checkpoint),
        args=training_arguments(out_folder, hyperparameters, quiet),
        train_dataset=features,
        data_collator=collator,
    )
    trainer.train()
    trainer.model.save_pretrained(out_folder)
    tokenizer.save_pretrained(out_folder)


def training_arguments(out_folder: str | Path, hyperparameters: Hyperparameters, quiet: bool) -> TrainingArguments:
    """Turns hyper-parameters into the Trainer's arguments; the rest are its defaults (AdamW, linear decay)."""
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
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def prepare(task: str, tokenizer: Any, data_path: str | Path, hyperparameters: Hyperparameters) -> tuple[Features, Any]:
    """Reads and tokenizes the data; returns them with the collator that makes batches of them."""
    if task == "question-answering":
        questions = read_squad(data_path)
        return question_features(tokenizer, questions, hyperparameters), DataCollatorWithPadding(tokenizer)
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=hyperparameters.mask_probability)
    return line_features(tokenizer, read_lines(data_path), hyperparameters), collator


def question_features(tokenizer: Any, questions: Sequence[Question], hyperparameters: Hyperparameters) -> Features:
    """Tokenizes questions with their contexts, in windows where the context is too long for one sequence.

    Every window is labelled with the first and the last token of the answer, or twice with the first token of the
    sequence where it does not hold the whole answer (Devlin et al., NAACL 2019).
    """
    encoded = tokenizer(
        [question.question.strip() for question in questions],
        [question.context for question in questions],
        truncation="only_second",
        max_length=hyperparameters.max_length,
        stride=hyperparameters.stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    owners = encoded.pop("overflow_to_sample_mapping")
    offsets = encoded.pop("offset_mapping")
    rows = []
    for row, owner in enumerate(owners):
        start, end = label(encoded.sequence_ids(row), offsets[row], questions[owner].answer)
        window = {name: values[row] for name, values in encoded.items()}
        rows.append({**window, "start_positions": start, "end_positions": end})
    return Features(rows)


def label(
    sequence_ids: Sequence[int | None], offsets: Sequence[tuple[int, int]], answer: tuple[int, int] | None
) -> tuple[int, int]:
    """Returns the first and the last token of an answer in a window, (0, 0) where the window does not hold it.

    Args:
        sequence_ids: per token 1 in the context, 0 in the question, None for special tokens.
        offsets: per token its first character and the one behind its last.
        answer: begin and end of the answer in the context, in characters.
    """
    inside = [token for token, sequence in enumerate(sequence_ids) if sequence == 1]
    if answer is None or not inside:
        return 0, 0
    begin, end = answer
    if offsets[inside[0]][0] > begin or offsets[inside[-1]][1] < end:
        return 0, 0
    first = max(token for token in inside if offsets[token][0] <= begin)
    last = min(token for token in inside if offsets[token][1] >= end)
    return first, last


def read_lines(path: str | Path) -> list[str]:
    """Reads the lines of a text file, without the empty ones.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has no line.
    """
    try:
        lines = [line for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    except OSError as error:
        raise InputError([Fault(str(path), "", f"cannot be read ({error.strerror})", "lines of text")]) from None
    except UnicodeDecodeError as error:
        raise InputError([Fault(str(path), f"byte {error.start + 1}", "is not UTF-8", "UTF-8 text")]) from None
    if not lines:
        raise InputError([Fault(str(path), "", "has no text", "one example a line")])
    return lines


def line_features(tokenizer: Any, lines: Sequence[str], hyperparameters: Hyperparameters) -> Features:
    """Tokenizes lines, one sequence each, cut at the longest length."""
    encoded = tokenizer(lines, truncation=True, max_length=hyperparameters.max_length, return_special_tokens_mask=True)
    return Features([dict(zip(encoded, values, strict=True)) for values in zip(*encoded.values(), strict=True)])
