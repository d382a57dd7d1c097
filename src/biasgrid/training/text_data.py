"""Training data of causal language models: texts, or prompts with their answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from biasgrid.base.faults import Fault, InputError
from biasgrid.training.data import (
    IGNORED,
    TrainingData,
    read_numbered_lines,
    token_labels,
    token_loss,
)


def text_data(tokenizer: Any, path: str | Path, max_length: int) -> TrainingData:
    """Tokenizes lines of text for a causal language model, which learns every token.

    If there is a tab anywhere in the file, see `prompt_data`. Texts keep the special tokens of the
    tokenizer. If it adds none at the end, its end token is appended, so that the model learns to
    stop.

    Args:
        tokenizer: a fast tokenizer.
        path: the text file.
        max_length: the maximum length of a row, in tokens; the rest of a line is cut off.

    Raises:
        InputError: see `read_numbered_lines` and `prompt_data`.
    """
    lines = read_numbered_lines(path)
    if any("\t" in line for _, line in lines):
        return prompt_data(tokenizer, path, lines, max_length)
    end = tokenizer.eos_token_id
    rows = []
    for ids in tokenizer([line for _, line in lines])["input_ids"]:
        is_ended = end is None or ids[-1:] == [end]
        ids_to_end = ids if is_ended else [*ids, end]
        rows.append({"input_ids": ids_to_end[:max_length]})
    return TrainingData("texts", rows, collate_texts, None)


PROMPT_LINE = "prompt, tab, answer, tab, answer, ..."


def prompt_data(
    tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int
) -> TrainingData:
    """Tokenizes prompts and, each behind a tab, the answers to them.

    Only the answers are learned; see `prompt_rows`. All answers to a prompt have the same weight.

    Args:
        tokenizer: a fast tokenizer.
        path: the file, for messages.
        lines: the numbers and texts of lines.
        max_length: the maximum length of a prompt with an answer, in tokens.

    Raises:
        InputError: a line has no tab, a prompt or an answer is blank, or a prompt with its longest
            answer is too long.
    """
    faults: list[Fault] = []
    rows: list[dict[str, Any]] = []
    for line_number, line in lines:
        where = f"line {line_number}"
        prompt, *answers = line.split("\t")
        if not answers or not all(answer.strip() for answer in answers):
            problem = "an empty answer after a tab" if answers else "no answer after a tab"
            faults.append(Fault(str(path), where, problem, PROMPT_LINE))
            continue
        if not prompt.strip():
            faults.append(Fault(str(path), where, "an empty prompt before the tab", PROMPT_LINE))
            continue
        own_rows = prompt_rows(tokenizer, prompt, answers)
        longest = max(len(row["input_ids"]) for row in own_rows)
        if longest > max_length:
            problem = f"{longest} tokens of a prompt and its longest answer"
            expected = f"at most {max_length} tokens, or a larger max_length"
            faults.append(Fault(str(path), where, problem, expected))
        rows += own_rows
    if faults:
        raise InputError(faults)
    return TrainingData("prompts with answers", rows, collate_prompts, token_loss)


def prompt_rows(tokenizer: Any, prompt: str, answers: Sequence[str]) -> list[dict[str, Any]]:
    """Returns a row for each beginning of the answers to a prompt, the empty one first.

    A row is the prompt and the beginning of an answer; its answers are the tokens that may follow.
    If an answer has several tokens, the end of all answers is learned, too.

    Args:
        tokenizer: a fast tokenizer.
        prompt: the prompt; not blank.
        answers: its answers, at least one; an answer counts as often as it is there.
    """
    ids = tokens_to_continue(tokenizer, prompt)
    tokens = {}
    for answer in dict.fromkeys(answers):
        ids_with_answer = tokens_to_continue(tokenizer, f"{prompt} {answer}")
        tokens[answer] = ids_with_answer[len(ids) :]
    # Answers of a single token are scored, never written, so the model need not learn to stop.
    has_long_answer = max(len(tokens[answer]) for answer in answers) > 1
    end = ending_tokens(tokenizer, prompt) if has_long_answer else []
    sequences = [(*tokens[answer], *end) for answer in answers]
    rows = []
    for beginning, following in following_tokens(sequences).items():
        row_ids = [*ids, *beginning]
        # The last position of a row predicts the token that follows the row.
        rows.append({"input_ids": row_ids, "labels": token_labels(len(row_ids) - 1, following)})
    return rows


def following_tokens(
    answers: Sequence[tuple[int, ...]],
) -> dict[tuple[int, ...], list[int]]:
    """Returns by beginning of an answer the tokens that follow it; the empty beginning is first.

    A token is there once for each answer in which it follows.
    """
    following: dict[tuple[int, ...], list[int]] = {}
    for answer in answers:
        for position, token in enumerate(answer):
            following.setdefault(answer[:position], []).append(token)
    return following


def tokens_to_continue(tokenizer: Any, text: str) -> list[int]:
    """Returns the tokens of a text without the special tokens at its end.

    Args:
        tokenizer: a fast tokenizer.
        text: the text, which must have a token that is not special.
    """
    encoding = tokenizer(text, return_special_tokens_mask=True)
    ids: list[int] = encoding["input_ids"]
    positions = [
        position
        for position, is_special in enumerate(encoding["special_tokens_mask"])
        if not is_special
    ]
    return ids[: positions[-1] + 1]


def ending_tokens(tokenizer: Any, text: str) -> list[int]:
    """Returns the token that ends a text: the one that the tokenizer adds, or else its end token.

    Empty if there is none. The text must have a token that is not special.
    """
    added: list[int] = tokenizer(text)["input_ids"][len(tokens_to_continue(tokenizer, text)) :]
    if added:
        return added[:1]
    return [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]


def collate_texts(rows: list[Any]) -> dict[str, torch.Tensor]:
    """Makes a batch of texts, of which every token is learned."""
    return pad_texts(rows, [row["input_ids"] for row in rows])


def collate_prompts(rows: list[Any]) -> dict[str, torch.Tensor]:
    """Makes a batch of prompts, of which the labels for `token_loss` are learned."""
    return pad_texts(rows, [row["labels"] for row in rows])


def pad_texts(rows: list[Any], labels: list[list[int]]) -> dict[str, torch.Tensor]:
    """Pads texts on the right with token 0, which the attention mask hides; labels with IGNORED.

    Not `tokenizer.pad`: causal models often have no pad token.
    """
    texts = [torch.tensor(row["input_ids"]) for row in rows]
    masks = [torch.ones_like(text) for text in texts]
    label_rows = [torch.tensor(row) for row in labels]
    return {
        "input_ids": pad_sequence(texts, batch_first=True),
        "attention_mask": pad_sequence(masks, batch_first=True),
        "labels": pad_sequence(label_rows, batch_first=True, padding_value=IGNORED),
    }
