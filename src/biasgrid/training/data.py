"""Training data of models: tokenized rows, their collation to batches, and the loss.

A row's `labels` have one of these forms, which its `loss` reads; a batch pads them with `IGNORED`:

| loss | labels of a row |
| --- | --- |
| the model's own (None) | a token for each token of the input |
| `span_loss` | the positions of the first and last token of each answer |
| `token_loss` | a position in the input, and the tokens that may be predicted there |
| `class_data.class_loss` | the numbers of its classes |
"""

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
"""The label that losses leave out, as torch's own losses do."""
NO_ANSWER = (0, 0)
"""The span of a window without an answer: twice its first token (Devlin et al., NAACL 2019)."""
CONTEXT = 1
"""The number of the second text of a pair in the tokenizer's `sequence_ids`."""


@dataclass(frozen=True)
class TrainingData:
    """A training set.

    Attributes:
        form: the form of the data in messages, such as `questions`. Sets of one form have the same
            `collate` and `loss`.
        rows: one tokenized sequence each, with `labels` as `loss` reads them. Without `labels` the
            collator makes them.
        collate: makes a batch of rows.
        loss: takes a model's outputs and a batch's `labels`; None for the model's own loss.
    """

    form: str
    rows: Sequence[Mapping[str, Any]]
    collate: Callable[[list[Any]], Any]
    loss: Callable[..., torch.Tensor] | None


def question_data(tokenizer: Any, path: str | Path, max_length: int, stride: int) -> TrainingData:
    """Tokenizes questions with their contexts, a row per window of a context.

    A window's `labels` are the positions of the first and last token of each answer, in the order
    of the answers: `NO_ANSWER` for an answer that it does not wholly contain, and once for a
    question without answers. All answers of a question have the same weight.

    Args:
        tokenizer: a fast tokenizer.
        path: SQuAD-format JSON.
        max_length: the maximum length of a row, in tokens.
        stride: the number of tokens that a window shares with the one before it.

    Raises:
        InputError: see `read_squad`; or the longest question leaves no room for a window.
    """
    questions = read_squad(path)
    texts = [question.question.strip() for question in questions]
    check_room(tokenizer, path, texts, max_length, stride)
    windows = tokenizer(
        texts,
        [question.context for question in questions],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    # The model takes neither of these two as an input.
    owners = windows.pop("overflow_to_sample_mapping")
    offsets = windows.pop("offset_mapping")
    rows = []
    for window, question in enumerate(owners):
        row = {name: values[window] for name, values in windows.items()}
        sequence_ids = windows.sequence_ids(window)
        row["labels"] = window_labels(sequence_ids, offsets[window], questions[question])
        rows.append(row)
    return TrainingData("questions", rows, answer_collator(tokenizer), span_loss)


def check_room(
    tokenizer: Any, path: str | Path, questions: list[str], max_length: int, stride: int
) -> None:
    """Refuses questions so long that windows of the context would not advance beside them.

    Raises:
        InputError: with the length of the longest question.
    """
    longest = max(len(ids) for ids in tokenizer(questions, add_special_tokens=False)["input_ids"])
    tokens_taken = longest + tokenizer.num_special_tokens_to_add(pair=True)
    if tokens_taken + stride >= max_length:
        problem = (
            f"the longest question and the special tokens take {tokens_taken} of the {max_length} "
            "tokens of max_length"
        )
        expected = f"more than {stride} tokens (stride) left for the context"
        raise InputError([Fault(str(path), "", problem, expected)])


def window_labels(
    sequence_ids: Sequence[int | None],
    offsets: Sequence[tuple[int, int]],
    question: TrainingQuestion,
) -> list[tuple[int, int]]:
    """Returns the positions of the first and the last token of each answer in a window.

    `NO_ANSWER` for an answer that is not wholly in the window; once if the question has no answer.

    Args:
        sequence_ids: of each token `CONTEXT` or 0, in the question; None for special tokens.
        offsets: of each token the first character in its text, and the one behind its last.
        question: the question with its answers.
    """
    in_context = [token for token, sequence in enumerate(sequence_ids) if sequence == CONTEXT]
    labels = []
    for answer in question.answers:
        starts = [token for token in in_context if offsets[token][0] <= answer.begin]
        ends = [token for token in in_context if offsets[token][1] >= answer.end]
        labels.append((starts[-1], ends[0]) if starts and ends else NO_ANSWER)
    return labels or [NO_ANSWER]


def line_data(
    tokenizer: Any, path: str | Path, max_length: int, mask_probability: float
) -> TrainingData:
    """Tokenizes lines of text for a masked language model.

    If the mask token is anywhere in the file, see `cloze_data`. Otherwise tokens are masked at
    random, anew in each epoch (Devlin et al., NAACL 2019).

    Args:
        tokenizer: a fast tokenizer with a mask token.
        path: the text file.
        max_length: the maximum length of a row, in tokens; the rest of a line is cut off.
        mask_probability: the share of tokens that are masked in a file without mask tokens.

    Raises:
        InputError: see `read_numbered_lines` and `cloze_data`.
    """
    lines = read_numbered_lines(path)
    if any(tokenizer.mask_token in line for _, line in lines):
        return cloze_data(tokenizer, path, lines, max_length)
    columns = tokenizer(
        [line for _, line in lines],
        truncation=True,
        max_length=max_length,
        return_special_tokens_mask=True,
    )
    rows = []
    for values in zip(*columns.values(), strict=True):
        rows.append(dict(zip(columns, values, strict=True)))
    collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=mask_probability)
    return TrainingData("texts", rows, collator, None)


def read_numbered_lines(path: str | Path) -> list[tuple[int, str]]:
    """Reads the lines of a text file that are not blank, with their numbers from 1.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or has no line.
    """
    text = read_text(path, "lines of text")
    numbered_lines = enumerate(text.split("\n"), start=1)
    lines = [(line_number, line) for line_number, line in numbered_lines if line.strip()]
    if not lines:
        raise InputError([Fault(str(path), "", "has no text", "one text per line")])
    return lines


@dataclass(frozen=True)
class Cloze:
    """A line with a mask token.

    Attributes:
        line_number: its number, from 1.
        text: the text, with one mask token.
        words: the words that may be at the mask; a word counts as often as it is there.
    """

    line_number: int
    text: str
    words: tuple[str, ...]


def read_cloze(path: str | Path, lines: Sequence[tuple[int, str]], mask: str) -> list[Cloze]:
    """Splits lines into a text with a mask and, each behind a tab, the words for it.

    A word that a line repeats is kept as often as it is there: that is its weight.

    Args:
        path: the file, for messages.
        lines: the numbers and texts of lines.
        mask: the mask token.

    Raises:
        InputError: a text does not have exactly one mask token, or a line has no words, or an empty
            one.
    """
    faults = []
    clozes = []
    for line_number, line in lines:
        where = f"line {line_number}"
        text, *words = line.split("\t")
        masks = text.count(mask)
        if masks != 1:
            problem = f"{mask} appears {masks} times in the text before the first tab"
            faults.append(Fault(str(path), where, problem, "it once"))
        if not words or not all(words):
            problem = "an empty word after a tab" if words else "no word after a tab"
            faults.append(Fault(str(path), where, problem, "text, tab, word, tab, word, ..."))
        clozes.append(Cloze(line_number, text, tuple(words)))
    if faults:
        raise InputError(faults)
    return clozes


def cloze_data(
    tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int
) -> TrainingData:
    """Tokenizes lines with a mask token and, each behind a tab, the words that may be at the mask.

    Only these words are learned. All words of a line have the same weight.

    Args:
        tokenizer: a fast tokenizer with a mask token.
        path: the file, for messages.
        lines: the numbers and texts of lines.
        max_length: the maximum length of a row, in tokens.

    Raises:
        InputError: see `read_cloze`; or a mask is behind `max_length` tokens, or a word is not a
            single known token.
    """
    faults = []
    rows = []
    for cloze in read_cloze(path, lines, tokenizer.mask_token):
        row = tokenizer(cloze.text, truncation=True, max_length=max_length)
        ids = row["input_ids"]
        tokens = {
            word: token_at_mask(tokenizer, cloze.text, word) for word in dict.fromkeys(cloze.words)
        }
        where = f"line {cloze.line_number}"
        known_tokens = {word: token for word, token in tokens.items() if token is not None}
        unknown = [word for word in tokens if word not in known_tokens]
        for word in unknown:
            problem = f"{word!r} is not a single known token"
            faults.append(Fault(str(path), where, problem, "words of one token"))
        if tokenizer.mask_token_id not in ids:
            problem = f"{tokenizer.mask_token} is not among the first {max_length} tokens"
            faults.append(Fault(str(path), where, problem, "shorter lines or a larger max_length"))
        elif not unknown:
            position = ids.index(tokenizer.mask_token_id)
            answers = [known_tokens[word] for word in cloze.words]
            rows.append({**row, "labels": token_labels(position, answers)})
    if faults:
        raise InputError(faults)
    return TrainingData("texts with a mask", rows, answer_collator(tokenizer), token_loss)


def token_at_mask(tokenizer: Any, text: str, word: str) -> int | None:
    """Returns the token of a word at a text's mask, None if it is not a single known token there.

    Elsewhere in a text the word may be another token, for example without a space before it.
    """
    ids_with_mask = tokenizer(text)["input_ids"]
    ids_with_word = tokenizer(text.replace(tokenizer.mask_token, word))["input_ids"]
    token: int = ids_with_word[ids_with_mask.index(tokenizer.mask_token_id)]
    is_one_token = len(ids_with_word) == len(ids_with_mask) and token != tokenizer.unk_token_id
    return token if is_one_token else None


def answer_collator(tokenizer: Any) -> Callable[[list[Any]], Any]:
    """Returns a collator for rows with `labels`, which it pads with `IGNORED` to equal length."""

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
    """Returns the mean of the losses of an answer's first and last token.

    Args:
        outputs: the output of a model for question answering.
        labels: token positions, shape (rows, answers, 2).
    """
    start = mean_loss(outputs.start_logits, labels[..., 0])
    end = mean_loss(outputs.end_logits, labels[..., 1])
    return (start + end) / 2


def token_labels(position: int, answers: Sequence[int]) -> list[int]:
    """Packs the labels of a row for `token_loss` into one list, since rows are batched by column.

    Args:
        position: the position in the row whose prediction is learned.
        answers: the tokens that may be predicted there; a token counts as often as it is there.
    """
    return [position, *answers]


def token_loss(outputs: Any, labels: torch.Tensor, **_: Any) -> torch.Tensor:
    """Returns the loss of one predicted token per row, at a mask or behind a prompt.

    Args:
        outputs: the output of a language model.
        labels: `token_labels` of each row, shape (rows, 1 + answers).
    """
    positions, answers = labels[:, 0], labels[:, 1:]
    rows = torch.arange(len(labels), device=labels.device)
    return mean_loss(outputs.logits[rows, positions], answers)


def mean_loss(logits: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    """Returns the cross-entropy of answers, averaged within each row and then over rows.

    Several answers make a target distribution. Showing them one at a time has the same expectation,
    but so much noise that weak preferences are not learned.

    Args:
        logits: shape (rows, classes).
        answers: class numbers, shape (rows, answers); at least one a row, padded with `IGNORED`.
    """
    is_answer = answers != IGNORED
    # `gather` takes no negative number. The 0 in place of `IGNORED` is multiplied by 0 below.
    log_probabilities = logits.log_softmax(dim=-1).gather(1, answers.clamp(min=0))
    row_sums = (log_probabilities * is_answer).sum(dim=1)
    return -(row_sums / is_answer.sum(dim=1)).mean()
