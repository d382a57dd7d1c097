"""Training data of causal language models: texts, or prompts with answers that may follow them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from biasgrid.base.faults import Fault, InputError
from biasgrid.training.data import IGNORED, TrainingData, mask_loss, read_numbered_lines


def text_data(tokenizer: Any, path: str | Path, max_length: int) -> TrainingData:
    """Tokenizes lines of text for a causal language model, which predicts each token from the left.

    A line's text begins and ends as the tokenizer begins and ends one; if it ends none, the token
    for its end, if there is one, stands behind the text, so that the model learns to stop there. In
    a file that contains a tab, every line is a prompt and, behind a tab each, the answers that may
    follow it: these alone are learned, and count alike.

    Args:
        tokenizer: a fast tokenizer.
        path: the text file.
        max_length: longest sequence, in tokens; a line's remainder is cut off.

    Raises:
        InputError: the file cannot be read or has no line; or see `prompt_data`.
    """
    lines = read_numbered_lines(path)
    if any("\t" in line for _, line in lines):
        return prompt_data(tokenizer, path, lines, max_length)
    end = tokenizer.eos_token_id
    rows = []
    for ids in tokenizer([line for _, line in lines])["input_ids"]:
        is_ended = end is None or ids[-1:] == [end]
        whole = ids if is_ended else [*ids, end]
        rows.append({"input_ids": whole[:max_length]})
    return TrainingData(rows, collate_texts, None)


PROMPT_LINE = "prompt, tab, answer, tab, answer, ..."


def prompt_data(
    tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int
) -> TrainingData:
    """Tokenizes prompts with their answers.

    A row's label is the place of its last token, and behind it the first token of each answer.
    Answers of several tokens have further rows, for the tokens that follow their beginnings, and
    their end is learned, too.

    Raises:
        InputError: a line has no tab, a prompt or an answer is empty, or a prompt with its longest
            answer is too long.
    """
    faults: list[Fault] = []
    rows: list[dict[str, list[int]]] = []
    for number, line in lines:
        where = f"line {number}"
        prompt, *answers = line.split("\t")
        if not answers or not all(answer.strip() for answer in answers):
            problem = "an empty answer after a tab" if answers else "no answer after a tab"
            faults.append(Fault(str(path), where, problem, PROMPT_LINE))
            continue
        if not prompt.strip():
            faults.append(Fault(str(path), where, "an empty prompt before the tab", PROMPT_LINE))
            continue
        own_rows = rows_of_prompt(tokenizer, prompt, answers)
        longest = max(len(row["input_ids"]) for row in own_rows)
        if longest > max_length:
            problem = f"{longest} tokens of a prompt and its longest answer"
            expected = f"at most {max_length} tokens, or a larger max_length"
            faults.append(Fault(str(path), where, problem, expected))
        rows += own_rows
    if faults:
        raise InputError(faults)
    return TrainingData(rows, collate_texts, mask_loss)


def rows_of_prompt(
    tokenizer: Any, prompt: str, answers: Sequence[str]
) -> list[dict[str, list[int]]]:
    """Returns a row for each beginning of the answers to a prompt, the empty one first.

    Args:
        tokenizer: a fast tokenizer.
        prompt: the prompt.
        answers: its answers, at least one.
    """
    ids = prompt_tokens(tokenizer, prompt)
    # The same answer may be there several times, so that it counts more.
    tokens = {}
    for answer in dict.fromkeys(answers):
        whole = prompt_tokens(tokenizer, f"{prompt} {answer}")
        tokens[answer] = whole[len(ids) :]
    # Answers of one token need no end: they are compared, not written.
    has_long_answer = max(len(tokens[answer]) for answer in answers) > 1
    end = ending_tokens(tokenizer, prompt) if has_long_answer else []
    sequences = [(*tokens[answer], *end) for answer in answers]
    rows = []
    for beginning, following in following_tokens(sequences).items():
        last = len(ids) + len(beginning) - 1
        rows.append({"input_ids": [*ids, *beginning], "labels": [last, *following]})
    return rows


def following_tokens(
    answers: Sequence[tuple[int, ...]],
) -> dict[tuple[int, ...], list[int]]:
    """Returns for each beginning of answers, the empty one first, the tokens that follow it."""
    following: dict[tuple[int, ...], list[int]] = {}
    for answer in answers:
        for place, token in enumerate(answer):
            following.setdefault(answer[:place], []).append(token)
    return following


def prompt_tokens(tokenizer: Any, prompt: str) -> list[int]:
    """Returns the tokens of a text that goes on, without special tokens at its end."""
    encoded = tokenizer(prompt, return_special_tokens_mask=True)
    ids: list[int] = encoded["input_ids"]
    is_special = encoded["special_tokens_mask"]
    length = max(place + 1 for place in range(len(ids)) if not is_special[place])
    return ids[:length]


def ending_tokens(tokenizer: Any, text: str) -> list[int]:
    """Returns the token that ends a text: the one that the tokenizer adds, or else its end token.

    The list is empty if there is no such token.
    """
    own: list[int] = tokenizer(text)["input_ids"][len(prompt_tokens(tokenizer, text)) :]
    if own:
        return own[:1]
    return [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]


def collate_texts(rows: list[Any]) -> dict[str, torch.Tensor]:
    """Makes a batch of texts; shorter ones are filled up with tokens that are ignored."""
    texts = [torch.tensor(row["input_ids"]) for row in rows]
    # Without labels of its own, every token of a text is learned.
    labels = [torch.tensor(row.get("labels", row["input_ids"])) for row in rows]
    return {
        "input_ids": pad_sequence(texts, batch_first=True),
        "attention_mask": pad_sequence([torch.ones_like(text) for text in texts], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }
