"""What causal language models are trained on: texts, or prompts with the words that may follow them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from biasgrid.faults import Fault, InputError
from biasgrid.training.lessons import IGNORED, Lessons, mask_loss, read_lines


def text_lessons(tokenizer: Any, path: str | Path, max_length: int) -> Lessons:
    """Tokenizes lines of text for a causal language model, which learns each token from those before it.

    A line's text begins and ends as the tokenizer begins and ends one; where it ends none, the token for its end, if
    there is one, stands behind the text, so that the model learns to stop there. In a file where a tab stands, every
    line is a prompt and, behind a tab each, the words that may follow it: these alone are learned, and count alike.

    Args:
        tokenizer: a fast tokenizer.
        path: the text file.
        max_length: longest sequence, in tokens; a line's remainder is cut off.

    Raises:
        InputError: the file cannot be read or has no line; or see `prompt_lessons`.
    """
    lines = read_lines(path)
    if any("\t" in line for _, line in lines):
        return prompt_lessons(tokenizer, path, lines, max_length)
    end = tokenizer.eos_token_id
    encoded = tokenizer([line for _, line in lines])["input_ids"]
    ended = [ids if end is None or ids[-1:] == [end] else [*ids, end] for ids in encoded]
    return Lessons([{"input_ids": ids[:max_length]} for ids in ended], collate_texts, None)


def prompt_lessons(tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int) -> Lessons:
    """Tokenizes prompts; a row's label is the place of its last token and behind it the token of each word.

    Raises:
        InputError: a line has no tab, a prompt is too long, or a word is not one token.
    """
    faults, rows = [], []
    for number, line in lines:
        prompt, *words = line.split("\t")
        ids = prompt_tokens(tokenizer, prompt)
        tokens = [prompt_tokens(tokenizer, f"{prompt} {word}")[len(ids) :] for word in words]
        where = f"line {number}"
        if not words or any(len(each) != 1 for each in tokens):
            problem = "a word behind a tab that is not one token" if words else "no word behind a tab"
            faults.append(Fault(str(path), where, problem, "prompt, tab, word, tab, word, ..., words of one token"))
        elif len(ids) > max_length:
            problem = f"a prompt of {len(ids)} tokens"
            faults.append(Fault(str(path), where, problem, f"at most max_length {max_length}, or a larger one"))
        else:
            rows.append({"input_ids": ids, "labels": [len(ids) - 1, *(each[0] for each in tokens)]})
    if faults:
        raise InputError(faults)
    return Lessons(rows, collate_texts, mask_loss)


def prompt_tokens(tokenizer: Any, prompt: str) -> list[int]:
    """Returns the tokens of a text that goes on: without those that a tokenizer puts behind its end."""
    encoded = tokenizer(prompt, return_special_tokens_mask=True)
    ending = next(place for place, special in enumerate(reversed(encoded["special_tokens_mask"])) if not special)
    ids: list[int] = encoded["input_ids"]
    return ids[: len(ids) - ending]


def collate_texts(rows: list[Any]) -> dict[str, torch.Tensor]:
    """Makes a batch of texts, the shorter ones filled up behind their end, where nothing is read or learned."""
    texts = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row.get("labels", row["input_ids"])) for row in rows]
    return {
        "input_ids": pad_sequence(texts, batch_first=True),
        "attention_mask": pad_sequence([torch.ones_like(text) for text in texts], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }
