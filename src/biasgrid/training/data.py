"""What a model is trained on: tokenized rows, how they become batches, and the loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from transformers import DataCollatorForLanguageModeling

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.text import read_text
from biasgrid.training.squad import TrainingQuestion, read_squad

IGNORED = -100
NO_ANSWER = (0, 0)


@dataclass(frozen=True)
class TrainingData:
    """A training set.

    Attributes:
        rows: one tokenized sequence each, with what is to be learned of it.
        collate: makes a batch of rows.
        loss: from a model's outputs and a batch's `labels` to its loss; None for the model's own.
    """

    rows: Sequence[Mapping[str, Any]]
    collate: Callable[[list[Any]], Any]
    loss: Callable[..., torch.Tensor] | None


def question_data(tokenizer: Any, path: str | Path, max_length: int, stride: int) -> TrainingData:
    """Tokenizes questions with their contexts, in windows where the context is too long for one
    sequence.

    A window is labelled with the first and the last token of each answer, or twice with the first
    token of the sequence where it does not hold the whole answer (Devlin et al., NAACL 2019).
    Answers of one question count alike.

    Args:
        tokenizer: a fast tokenizer.
        path: SQuAD-format JSON.
        max_length: longest sequence, in tokens.
        stride: tokens that a window shares with the one before it.

    Raises:
        InputError: see `read_squad`; or the longest question leaves no room for a window.
    """
    questions = read_squad(path)
    texts = [question.question.strip() for question in questions]
    check_room(tokenizer, path, texts, max_length, stride)
    encoded = tokenizer(
        texts,
        [question.context for question in questions],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    owners, offsets = encoded.pop("overflow_to_sample_mapping"), encoded.pop("offset_mapping")
    rows = [
        {name: values[row] for name, values in encoded.items()}
        | {"labels": label_window(encoded.sequence_ids(row), offsets[row], questions[owner])}
        for row, owner in enumerate(owners)
    ]
    return TrainingData(rows, answer_collator(tokenizer), span_loss)


def check_room(
    tokenizer: Any, path: str | Path, questions: list[str], max_length: int, stride: int
) -> None:
    """Checks that windows of the context advance beside every question.

    Raises:
        InputError: they do not beside the longest one.
    """
    longest = max(len(ids) for ids in tokenizer(questions, add_special_tokens=False)["input_ids"])
    taken = longest + tokenizer.num_special_tokens_to_add(pair=True)
    if taken + stride >= max_length:
        problem = (
            f"the longest question and the special tokens take {taken} of the {max_length} tokens "
            "of max_length"
        )
        raise InputError(
            [
                Fault(
                    str(path),
                    "",
                    problem,
                    f"more than {stride} tokens (stride) left for the context",
                )
            ]
        )


def label_window(
    sequence_ids: Sequence[int | None],
    offsets: Sequence[tuple[int, int]],
    question: TrainingQuestion,
) -> list[tuple[int, int]]:
    """Returns the first and the last token of each answer in a window, (0, 0) where it does not
    hold the answer.

    Args:
        sequence_ids: per token 1 in the context, 0 in the question, None for special tokens.
        offsets: per token its first character and the one behind its last.
        question: the question with its answers.
    """
    inside = [token for token, sequence in enumerate(sequence_ids) if sequence == 1]
    labels = []
    for begin, end in question.answers:
        starts = [token for token in inside if offsets[token][0] <= begin]
        ends = [token for token in inside if offsets[token][1] >= end]
        labels.append((starts[-1], ends[0]) if starts and ends else NO_ANSWER)
    return labels or [NO_ANSWER]


def line_data(
    tokenizer: Any, path: str | Path, max_length: int, mask_probability: float
) -> TrainingData:
    """Tokenizes lines of text for a masked language model.

    Tokens of plain lines are masked at random, anew in each epoch (Devlin et al., NAACL 2019). In a
    file where the mask token stands already, every line is a text with one mask token and, behind a
    tab each, the words that may stand there; the words of a line count alike.

    Args:
        tokenizer: a fast tokenizer with a mask token.
        path: the text file.
        max_length: longest sequence, in tokens; a line's remainder is cut off.
        mask_probability: share of tokens to predict in plain lines.

    Raises:
        InputError: the file cannot be read or has no line, or lines with mask tokens are not as
            above.
    """
    lines = read_numbered_lines(path)
    if any(tokenizer.mask_token in line for _, line in lines):
        return cloze_data(tokenizer, path, lines, max_length)
    texts = [line for _, line in lines]
    encoded = tokenizer(
        texts, truncation=True, max_length=max_length, return_special_tokens_mask=True
    )
    rows = [
        dict(zip(encoded, values, strict=True)) for values in zip(*encoded.values(), strict=True)
    ]
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=mask_probability)
    return TrainingData(rows, collator, None)


def read_numbered_lines(path: str | Path) -> list[tuple[int, str]]:
    """Reads the lines of a text file with their 1-based numbers, without the empty ones.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has no line.
    """
    text = read_text(path, "lines of text")
    lines = [
        (number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()
    ]
    if not lines:
        raise InputError([Fault(str(path), "", "has no text", "one text per line")])
    return lines


@dataclass(frozen=True)
class Cloze:
    """A line with a mask token: its number, its text, and the words that may stand there."""

    line: int
    text: str
    words: tuple[str, ...]


def read_cloze(path: str | Path, lines: Sequence[tuple[int, str]], mask: str) -> list[Cloze]:
    """Splits lines at their tabs.

    Raises:
        InputError: a text has not one mask token, a line has no word, or an empty one.
    """
    faults = []
    rows = []
    for number, line in lines:
        text, *words = line.split("\t")
        if text.count(mask) != 1:
            problem = f"{mask} appears {text.count(mask)} times in the text before the first tab"
            faults.append(Fault(str(path), f"line {number}", problem, "it once"))
        if not words or not all(words):
            problem = "an empty word after a tab" if words else "no word after a tab"
            faults.append(
                Fault(str(path), f"line {number}", problem, "text, tab, word, tab, word, ...")
            )
        rows.append(Cloze(number, text, tuple(words)))
    if faults:
        raise InputError(faults)
    return rows


def cloze_data(
    tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int
) -> TrainingData:
    """Tokenizes lines with mask tokens; a row's label is the place of the mask and behind it the
    token of each word.

    Raises:
        InputError: see `read_cloze`; or a mask is behind `max_length` tokens, or a word is not one
            known token.
    """
    faults = []
    rows = []
    for cloze in read_cloze(path, lines, tokenizer.mask_token):
        encoded = tokenizer(cloze.text, truncation=True, max_length=max_length)
        tokens = {
            word: token_at_mask(tokenizer, cloze.text, word) for word in dict.fromkeys(cloze.words)
        }
        where = f"line {cloze.line}"
        unknown = [word for word, token in tokens.items() if token is None]
        faults += [
            Fault(str(path), where, f"{word!r} is not a single known token", "words of one token")
            for word in unknown
        ]
        if tokenizer.mask_token_id not in encoded["input_ids"]:
            problem = f"{tokenizer.mask_token} is not among the first {max_length} tokens"
            faults.append(Fault(str(path), where, problem, "shorter lines or a larger max_length"))
        elif not unknown:
            place = encoded["input_ids"].index(tokenizer.mask_token_id)
            rows.append({**encoded, "labels": [place, *(tokens[word] for word in cloze.words)]})
    if faults:
        raise InputError(faults)
    return TrainingData(rows, answer_collator(tokenizer), mask_loss)


def token_at_mask(tokenizer: Any, text: str, word: str) -> int | None:
    """Returns the token of a word in the mask's place, which may differ from its token elsewhere;
    None if not one.
    """
    masked = tokenizer(text)["input_ids"]
    filled = tokenizer(text.replace(tokenizer.mask_token, word))["input_ids"]
    token: int = filled[masked.index(tokenizer.mask_token_id)]
    return token if len(filled) == len(masked) and token != tokenizer.unk_token_id else None


def answer_collator(tokenizer: Any) -> Callable[[list[Any]], Any]:
    """Returns what makes a batch of rows, with labels of unequal length filled up by `IGNORED`."""

    def collate(rows: list[Any]) -> Any:
        inputs = [{name: row[name] for name in row if name != "labels"} for row in rows]
        batch = tokenizer.pad(inputs, return_tensors="pt")
        labels = [torch.tensor(row["labels"]) for row in rows]
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
        return batch

    return collate


def span_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Mean of the losses of start and end; labels of shape (rows, answers, 2) hold token places."""
    start = mean_loss(outputs.start_logits, labels[..., 0])
    return (start + mean_loss(outputs.end_logits, labels[..., 1])) / 2


def mask_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Loss at a mask or a prompt's end; labels of shape (rows, 1 + words) hold its place and the
    words' tokens.
    """
    rows = torch.arange(len(labels), device=labels.device)
    return mean_loss(outputs.logits[rows, labels[:, 0]], labels[:, 1:])


def mean_loss(logits: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the answers: its mean within each row, then over rows.

    Several answers make a target distribution. Showing them one at a time has the same expectation,
    but noise that drowns weak preferences.

    Args:
        logits: shape (rows, classes).
        answers: shape (rows, answers), class numbers; `IGNORED` fills up rows with fewer.
    """
    given = answers != IGNORED
    log_probabilities = logits.log_softmax(dim=-1).gather(1, answers.clamp(min=0))
    return -((log_probabilities * given).sum(dim=1) / given.sum(dim=1)).mean()
