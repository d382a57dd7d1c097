"""What causal language models are trained on: texts, or prompts with the answers that may follow
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

from biasgrid.base.faults import Fault, InputError
from biasgrid.training.data import IGNORED, TrainingData, mask_loss, read_numbered_lines


def text_data(tokenizer: Any, path: str | Path, max_length: int) -> TrainingData:
    """Tokenizes lines of text for a causal language model, which learns each token from those
    before it.

    A line's text begins and ends as the tokenizer begins and ends one; where it ends none, the
    token for its end, if there is one, stands behind the text, so that the model learns to stop
    there. In a file where a tab stands, every line is a prompt and, behind a tab each, the answers
    that may follow it: these alone are learned, and count alike.

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
    encoded = tokenizer([line for _, line in lines])["input_ids"]
    ended = [ids if end is None or ids[-1:] == [end] else [*ids, end] for ids in encoded]
    return TrainingData([{"input_ids": ids[:max_length]} for ids in ended], collate_texts, None)


def prompt_data(
    tokenizer: Any, path: str | Path, lines: Sequence[tuple[int, str]], max_length: int
) -> TrainingData:
    """Tokenizes prompts; a row's label is the place of its last token and behind it the first token
    of each answer.

    Answers of several tokens have rows for what follows their beginnings, and their end is learned,
    too.

    Raises:
        InputError: a line has no tab, a prompt with its longest answer is too long, or an answer is
            empty.
    """
    faults, rows = [], []
    for number, line in lines:
        prompt, *answers = line.split("\t")
        ids = prompt_tokens(tokenizer, prompt)
        tokens = {
            each: prompt_tokens(tokenizer, f"{prompt} {each}")[len(ids) :]
            for each in dict.fromkeys(answers)
        }
        told = [tokens[answer] for answer in answers]
        where = f"line {number}"
        if not told or not all(answer.strip() for answer in answers):
            problem = "an empty answer after a tab" if told else "no answer after a tab"
            faults.append(Fault(str(path), where, problem, "prompt, tab, answer, tab, answer, ..."))
            continue
        end = ending_tokens(tokenizer, prompt) if max(map(len, told)) > 1 else []
        own = [
            {"input_ids": [*ids, *said], "labels": [len(ids) + len(said) - 1, *following]}
            for said, following in following_tokens([(*each, *end) for each in told]).items()
        ]
        longest = max(len(row["input_ids"]) for row in own)
        if longest > max_length:
            problem = f"{longest} tokens of a prompt and its longest answer"
            faults.append(
                Fault(
                    str(path),
                    where,
                    problem,
                    f"at most {max_length} tokens, or a larger max_length",
                )
            )
        rows += own
    if faults:
        raise InputError(faults)
    return TrainingData(rows, collate_texts, mask_loss)


def following_tokens(answers: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], list[int]]:
    """Returns for each beginning of answers, the empty one first, the tokens that follow it."""
    following: dict[tuple[int, ...], list[int]] = {}
    for answer in answers:
        for place, token in enumerate(answer):
            following.setdefault(answer[:place], []).append(token)
    return following


def prompt_tokens(tokenizer: Any, prompt: str) -> list[int]:
    """Returns the tokens of a text that goes on: without those that a tokenizer puts behind its
    end.
    """
    encoded = tokenizer(prompt, return_special_tokens_mask=True)
    ending = next(
        place
        for place, special in enumerate(reversed(encoded["special_tokens_mask"]))
        if not special
    )
    ids: list[int] = encoded["input_ids"]
    return ids[: len(ids) - ending]


def ending_tokens(tokenizer: Any, text: str) -> list[int]:
    """Returns the token that ends a text, the tokenizer's own if it ends texts; none where there is
    no such token.
    """
    own: list[int] = tokenizer(text)["input_ids"][len(prompt_tokens(tokenizer, text)) :]
    return own[:1] or [token for token in (tokenizer.eos_token_id,) if token is not None]


def collate_texts(rows: list[Any]) -> dict[str, torch.Tensor]:
    """Makes a batch of texts, the shorter ones filled up behind their end, where nothing is read or
    learned.
    """
    texts = [torch.tensor(row["input_ids"]) for row in rows]
    labels = [torch.tensor(row.get("labels", row["input_ids"])) for row in rows]
    return {
        "input_ids": pad_sequence(texts, batch_first=True),
        "attention_mask": pad_sequence([torch.ones_like(text) for text in texts], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=IGNORED),
    }
