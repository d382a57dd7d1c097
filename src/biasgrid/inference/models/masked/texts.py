"""Texts with a mask, some of them after a context, and their tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.inference.engine.encoding import TokenRows, check_assembled, single_layout, whole_rows
from biasgrid.inference.engine.segments import distinct_rows, numbered_rows, tokenize

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MASK = "[MASK]"
"""The mask in the texts of instances; a tokenizer's own mask takes its place."""


@dataclass(frozen=True)
class MaskTexts:
    """The texts of instances: a context, which may be empty, and the statement with the mask.

    Attributes:
        contexts, statements: the distinct texts. A statement after a context begins with the space
            between them; the context of an instance without one is "".
        context_index, statement_index: shape (instances,), the texts of each instance.
    """

    contexts: list[str]
    statements: list[str]
    context_index: IntArray
    statement_index: IntArray

    @classmethod
    def from_instances(cls, instances: pl.DataFrame, mask: str) -> MaskTexts:
        """Returns the texts of instances.

        Args:
            instances: the instances; `text_pair` is the context, null without one.
            mask: the tokenizer's mask token, which replaces `MASK`.
        """
        contexts, context_index = distinct_rows(instances, ["text_pair"])
        texts = instances.select("text", has_context=pl.col("text_pair").is_not_null())
        statements, statement_index = distinct_rows(texts, ["text", "has_context"])
        space = pl.when("has_context").then(pl.lit(" ")).otherwise(pl.lit(""))
        text = pl.col("text").str.replace_all(MASK, mask, literal=True)
        return cls(
            contexts["text_pair"].fill_null("").to_list(),
            statements.select(space + text).to_series().to_list(),
            context_index,
            statement_index,
        )

    def whole(self, instances: IntArray) -> list[tuple[str, ...]]:
        """Returns the whole texts of some instances, as tuples of one text; see `whole_rows`."""
        texts: list[tuple[str, ...]] = []
        for context, statement in zip(
            self.context_index[instances], self.statement_index[instances], strict=True
        ):
            texts.append((self.contexts[context] + self.statements[statement],))
        return texts

    def around(self, mask: str) -> list[str]:
        """Returns the mask of each statement with its neighbouring words.

        The tokens of a word in place of the mask may depend on these, and on nothing else.

        Raises:
            IndexError: a statement has no mask.
        """
        pattern = re.compile(rf"\S*\s*{re.escape(mask)}\s*\S*")
        return [pattern.findall(text)[0] for text in self.statements]

    def tokenized(self, tokenizer: PreTrainedTokenizerFast, *, whole: bool) -> TokenRows:
        """Returns the tokens of the instances, one row for each.

        Args:
            tokenizer: the tokenizer.
            whole: whether to tokenize each text as a whole. The second segment is then the whole
                text, and otherwise the statement.

        Raises:
            NotAssembledError: `whole` is False, and whole texts have other tokens than their
                segments.
        """
        if whole:
            return whole_rows(tokenizer, self.whole(np.arange(len(self.statement_index))))
        examples = numbered_rows([self.statement_index])[0]
        statements = []
        for row, statement in zip(examples, self.statements, strict=True):
            context = self.contexts[self.context_index[row]]
            statements.append(without_joining_space(tokenizer, context, statement))
        first = tokenize(tokenizer, self.contexts)
        second = tokenize(tokenizer, statements)
        rows = single_layout(tokenizer).rows(
            first, second, first_index=self.context_index, second_index=self.statement_index
        )
        check_assembled(rows, tokenizer, self.whole)
        return rows


def without_joining_space(tokenizer: PreTrainedTokenizerFast, context: str, statement: str) -> str:
    """Returns a statement as it is tokenized by itself.

    The space between context and statement is left out if no token contains it. In byte-level
    tokenizers a token does.

    Args:
        tokenizer: the tokenizer.
        context: the context; without one ("") the statement is returned as it is.
        statement: the statement, which begins with the space if there is a context.
    """

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    if not context:
        return statement
    behind_context = encode(context + statement)[len(encode(context)) :]
    return statement[1:] if behind_context == encode(statement[1:]) else statement
