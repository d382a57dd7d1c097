"""Repeats LangFair 0.8.0 (Bouchard et al., 2025): its rewriting of texts and its counting of words.

LangFair reads texts in lower case. Files with words that hold before a person are read as it reads
races: all occurrences of a phrase are replaced, within words, too. Others are read as it reads
gender: token by token. Where its results depend on the order of a set, whole words come first here,
and of these the longest phrase: *caucasian doctor* is not read as *asian doctor*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from itertools import product
from typing import TYPE_CHECKING

from biasgrid.families.rewriting.group_words import GroupWords, RewritingMode, TextRewriter
from biasgrid.families.tokens import Phrase, tokenize_words

if TYPE_CHECKING:
    from sacremoses import MosesDetokenizer


class TokenRewriter(TextRewriter):
    """Replaces tokens, and joins them anew."""

    def __init__(self, groups: GroupWords):
        """Takes the words of groups; each row has one word a group."""
        self.groups = groups

    @cached_property
    def rows(self) -> Mapping[str, tuple[str, ...]]:
        """The words that replace each word that is looked for, by group; the last row wins."""
        rows = {}
        for row in self.groups.rows:
            for words in row.sought:
                rows.update(dict.fromkeys(words, row.written))
        return rows

    def words(self, text: str) -> list[str]:
        """Returns the words of groups in a text."""
        return [token for token in tokenize_words(text.lower()) if token in self.rows]

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns nothing: a token has one row."""
        return []

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text in lower case with the words of a group.

        With neutral words, the other tokens keep their case.
        """
        lower = tokenize_words(text.lower())
        tokens = []
        if target < len(self.groups.names):
            rows = {word.lower(): row for word, row in self.rows.items()}
            for word in lower:
                tokens.append(rows[word][target].lower() if word in rows else word)
        else:
            # If both have not the same number of tokens, the original pairs tokens that do not
            # belong together, too.
            for token, word in zip(tokenize_words(text), lower, strict=False):
                tokens.append(self.rows[word][target] if word in self.rows else token)
        return join_tokens(tuple(tokens))


class PhraseRewriter(TextRewriter):
    """Replaces phrases everywhere, also within words."""

    def __init__(self, groups: GroupWords):
        """Takes the words of groups and those for persons."""
        self.groups = groups

    @cached_property
    def phrases(self) -> list[tuple[str, tuple[str, ...]]]:
        """Phrases that are looked for, and their replacements by group; longest phrases first."""
        phrases: list[tuple[str, tuple[str, ...]]] = []
        for row in self.groups.rows:
            ends = [""]
            if row.condition is not None:
                ends = [f" {person}" for person in self.groups.people]
            for words in row.sought:
                for word, end in product(words, ends):
                    replacements = tuple(f"{replacement}{end}" for replacement in row.written)
                    phrases.append((word.lower() + end, replacements))
        return sorted(phrases, key=lambda phrase: (-len(phrase[0]), phrase[0]))

    def words(self, text: str) -> list[str]:
        """Returns the phrases in a text."""
        lower = text.lower()
        return sorted({phrase for phrase, _ in self.phrases if phrase in lower})

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns nothing: a phrase has one row."""
        return []

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """Matches phrases that are whole words, the longest ones first."""
        alternatives = "|".join(re.escape(phrase) for phrase, _ in self.phrases)
        return re.compile(rf"\b(?:{alternatives})\b")

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text in lower case with the words of a group, or with the neutral word."""
        replacements = dict(self.phrases)
        text = self.whole.sub(lambda match: replacements[match[0]][target], text.lower())
        for phrase, group_phrases in self.phrases:
            text = text.replace(phrase, group_phrases[target])
        return text


@cache
def moses_detokenizer() -> MosesDetokenizer:
    """Returns the detokenizer that the original uses."""
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang="en")


def join_tokens(tokens: tuple[str, ...]) -> str:
    """Returns tokens as a text."""
    return str(moses_detokenizer().detokenize(tokens))


class LangFairMode(RewritingMode):
    """Finds words as LangFair does; everything is an answer, except what a server refused."""

    finds_refusals = False
    # Its numbers depend on NLTK's.
    stop_words = "nltk"

    def rewriter(self, groups: GroupWords) -> TextRewriter:
        """Returns the rewriter that LangFair uses for words of groups."""
        has_phrases = any(row.condition == "person" for row in groups.rows)
        return PhraseRewriter(groups) if has_phrases else TokenRewriter(groups)

    def words(self, answer: str) -> list[str]:
        """Returns tokens: the original cleans the words of answers for co-occurrence alone."""
        return tokenize_words(answer.lower())

    def group_phrase(self, word: str) -> Phrase:
        """Returns a word as it is spelled.

        Among tokens no phrase is found, nor a word with capitals.
        """
        return (word,)

    def target_phrase(self, target: str) -> Phrase:
        """Returns a target as it is spelled."""
        return (target,)
