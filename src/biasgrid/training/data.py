"""Training data of models: tokenized rows, their collation to batches, and the loss."""

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
        rows: one tokenized sequence each, with its `labels` unless the collator makes them.
        collate: makes a batch of rows.
        loss: from a model's outputs and a batch's `labels` to its loss; None for the model's own.
    """

    rows: Sequence[Mapping[str, Any]]
    collate: Callable[[list[Any]], Any]
    loss: Callable[..., torch.Tensor] | None


def question_data(tokenizer: Any, path: str | Path, max_length: int, stride: int) -> TrainingData:
    """Tokenizes questions with their contexts, in windows if the context is too long.

    A window is labelled with the first and the last token of each answer, or twice with the first
    token of the sequence if it does not hold the whole answer (Devlin et al., NAACL 2019).
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
    # The model takes neither of these two as an input.
    owners = encoded.pop("overflow_to_sample_mapping")
    offsets = encoded.pop("offset_mapping")
    rows = []
    for number, owner in enumerate(owners):
        row = {name: values[number] for name, values in encoded.items()}
        sequence_ids = encoded.sequence_ids(number)
        row["labels"] = label_window(sequence_ids, offsets[number], questions[owner])
        rows.append(row)
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
        expected = f"more than {stride} tokens (stride) left for the context"
        raise InputError([Fault(str(path), "", problem, expected)])


def label_window(
    sequence_ids: Sequence[int | None],
    offsets: Sequence[tuple[int, int]],
    question: TrainingQuestion,
) -> list[tuple[int, int]]:
    """Returns the first and the last token of each answer in a window.

    Both are 0 if the window does not hold the answer, or if there is none.

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
    file that contains the mask token, every line is a text with one mask token and, behind a tab
    each, the words that may stand there; the words of a line count alike.

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
    encoded = tokenizer(
        [line for _, line in lines],
        truncation=True,
        max_length=max_length,
        return_special_tokens_mask=True,
    )
    rows = []
    for values in zip(*encoded.values(), strict=True):
        rows.append(dict(zip(encoded, values, strict=True)))
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=mask_probability)
    return TrainingData(rows, collator, None)


def read_numbered_lines(path: str | Path) -> list[tuple[int, str]]:
    """Reads the lines of a text file with their 1-based numbers, without the empty ones.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has no line.
    """
    text = read_text(path, "lines of text")
    numbered = enumerate(text.split("\n"), start=1)
    lines = [(number, line) for number, line in numbered if line.strip()]
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

    Args:
        path: their file, for messages.
        lines: numbers and texts of lines.
        mask: the mask token.

    Raises:
        InputError: a text has not one mask token, a line has no word, or an empty one.
    """
    faults = []
    rows = []
    for number, line in lines:
        where = f"line {number}"
        text, *words = line.split("\t")
        masks = text.count(mask)
        if masks != 1:
            problem = f"{mask} appears {masks} times in the text before the first tab"
            faults.append(Fault(str(path), where, problem, "it once"))
        if not words or not all(words):
            problem = "an empty word after a tab" if words else "no word after a tab"
            faults.append(Fault(str(path), where, problem, "text, tab, word, tab, word, ..."))
        rows.append(Cloze(number, text, tuple(words)))
    if faults:
        raise InputError(faults)
    return rows


def cloze_data(
    tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int
) -> TrainingData:
    """Tokenizes lines with mask tokens.

    A row's label is the place of the mask, and behind it the token of each word.

    Raises:
        InputError: see `read_cloze`; or a mask is behind `max_length` tokens, or a word is not one
            known token.
    """
    faults = []
    rows = []
    for cloze in read_cloze(path, lines, tokenizer.mask_token):
        encoded = tokenizer(cloze.text, truncation=True, max_length=max_length)
        ids = encoded["input_ids"]
        tokens = {
            word: token_at_mask(tokenizer, cloze.text, word) for word in dict.fromkeys(cloze.words)
        }
        where = f"line {cloze.line}"
        unknown = [word for word, token in tokens.items() if token is None]
        for word in unknown:
            problem = f"{word!r} is not a single known token"
            faults.append(Fault(str(path), where, problem, "words of one token"))
        if tokenizer.mask_token_id not in ids:
            problem = f"{tokenizer.mask_token} is not among the first {max_length} tokens"
            faults.append(Fault(str(path), where, problem, "shorter lines or a larger max_length"))
        elif not unknown:
            place = ids.index(tokenizer.mask_token_id)
            # A word that stands twice counts twice.
            rows.append({**encoded, "labels": [place, *(tokens[word] for word in cloze.words)]})
    if faults:
        raise InputError(faults)
    return TrainingData(rows, answer_collator(tokenizer), mask_loss)


def token_at_mask(tokenizer: Any, text: str, word: str) -> int | None:
    """Returns the token of a word in the mask's place, which may differ from its token elsewhere.

    None if the word is not one known token there.
    """
    masked = tokenizer(text)["input_ids"]
    filled = tokenizer(text.replace(tokenizer.mask_token, word))["input_ids"]
    token: int = filled[masked.index(tokenizer.mask_token_id)]
    is_one_token = len(filled) == len(masked) and token != tokenizer.unk_token_id
    return token if is_one_token else None


def answer_collator(tokenizer: Any) -> Callable[[list[Any]], Any]:
    """Returns a collator, which fills up labels of unequal length by `IGNORED`."""

    def collate(rows: list[Any]) -> Any:
        inputs = []
        for row in rows:
            inputs.append({name: value for name, value in row.items() if name != "labels"})
        batch = tokenizer.pad(inputs, return_tensors="pt")
        labels = [torch.tensor(row["labels"]) for row in rows]
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
        return batch

    return collate


def span_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Mean of the losses of start and end; labels of shape (rows, answers, 2) hold token places."""
    start = mean_loss(outputs.start_logits, labels[..., 0])
    end = mean_loss(outputs.end_logits, labels[..., 1])
    return (start + end) / 2


def mask_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Loss at a mask or a prompt's end.

    Labels of shape (rows, 1 + words) hold its place and the words' tokens.
    """
    rows = torch.arange(len(labels), device=labels.device)
    places, answers = labels[:, 0], labels[:, 1:]
    return mean_loss(outputs.logits[rows, places], answers)


def mean_loss(logits: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the answers: its mean within each row, then over rows.

    Several answers make a target distribution. Showing them one at a time has the same expectation,
    but noise that drowns weak preferences.

    Args:
        logits: shape (rows, classes).
        answers: shape (rows, answers), class numbers; `IGNORED` fills up rows with fewer.
    """
    is_answer = answers != IGNORED
    # `gather` takes no negative number; what it finds for `IGNORED` is multiplied by 0.
    log_probabilities = logits.log_softmax(dim=-1).gather(1, answers.clamp(min=0))
    row_sums = (log_probabilities * is_answer).sum(dim=1)
    return -(row_sums / is_answer.sum(dim=1)).mean()
