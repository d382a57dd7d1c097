"""Texts with a mask, some of them behind a context, and their tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.inference.engine.encoding import TokenRows, check, single_layout, whole_rows
from biasgrid.inference.engine.segments import distinct_rows, numbered_rows, tokenize

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

MASK = "[MASK]"
"""How texts may write the mask, whatever a tokenizer calls its own."""


@dataclass(frozen=True)
class MaskTexts:
    """The texts of instances: a context, which may be empty, and the statement with the mask.

    Attributes:
        contexts, statements: the distinct ones; a statement behind a context begins with the space
            between them.
        context_of, statement_of: shape (instances,), which each instance has.
    """

    contexts: list[str]
    statements: list[str]
    context_of: IntArray
    statement_of: IntArray

    @classmethod
    def of(cls, asked: pl.DataFrame, mask: str) -> MaskTexts:
        """Takes the texts of instances: `text_pair` is the context.

        Args:
            asked: the instances.
            mask: how the tokenizer writes the mask.
        """
        contexts, context_of = distinct_rows(asked, ["text_pair"])
        named = asked.select("text", behind=pl.col("text_pair").is_not_null())
        statements, statement_of = distinct_rows(named, ["text", "behind"])
        space = pl.when("behind").then(pl.lit(" ")).otherwise(pl.lit(""))
        written = statements.select(
            space + pl.col("text").str.replace_all(MASK, mask, literal=True)
        ).to_series()
        return cls(
            contexts["text_pair"].fill_null("").to_list(),
            written.to_list(),
            context_of,
            statement_of,
        )

    def whole(self, rows: IntArray) -> list[tuple[str, ...]]:
        """Returns the texts of some instances."""
        return [
            (self.contexts[self.context_of[row]] + self.statements[self.statement_of[row]],)
            for row in rows
        ]

    def around(self, mask: str) -> list[str]:
        """Returns of each statement the mask with what stands beside it, on which the tokens of a
        word may depend.
        """
        pattern = re.compile(rf"\S*\s*{re.escape(mask)}\s*\S*")
        return [pattern.findall(text)[0] for text in self.statements]

    def tokenized(self, tokenizer: PreTrainedTokenizerFast, whole: bool) -> TokenRows:
        """Returns the tokens of each instance, those of the statement, or of all of it, as the
        second segment.

        Args:
            tokenizer: the tokenizer.
            whole: whether to tokenize each text as a whole.

        Raises:
            NotAssembledError: whole texts have other tokens than their segments.
        """
        if whole:
            return whole_rows(tokenizer, self.whole(np.arange(len(self.statement_of))))
        example = numbered_rows([self.statement_of])[0]
        pairs = zip(
            (self.contexts[self.context_of[row]] for row in example), self.statements, strict=True
        )
        first = tokenize(tokenizer, self.contexts)
        second = tokenize(tokenizer, [as_tokenized(tokenizer, *pair) for pair in pairs])
        of = self.context_of.astype(np.int32), self.statement_of.astype(np.int32)
        rows = single_layout(tokenizer).rows(first, second, *of)
        check(rows, tokenizer, self.whole)
        return rows


def as_tokenized(tokenizer: PreTrainedTokenizerFast, context: str, statement: str) -> str:
    """Returns a statement by itself, without the space behind its context where no token has that.

    Tokens of byte-level tokenizers have it.
    """

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return found

    is_apart = context and ids(context + statement)[len(ids(context)) :] == ids(statement[1:])
    return statement[1:] if is_apart else statement
