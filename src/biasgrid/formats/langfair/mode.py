"""The replication of LangFair's numbers: rewrites texts and counts words as it does, which reads
them in lower case.

Files with words that hold before a person are read as it reads races: all occurrences of a phrase
are replaced, within words, too. Others are read as it reads gender: token by token. Where its
results hang on the order of a set, whole words come first here, and of these the longest phrase:
*caucasian doctor* is not read as *asian doctor*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING

from biasgrid.families.rewriting.group_words import GroupWords, RewritingMode, TextRewriter
from biasgrid.families.tokens import Phrase, tokenize_words

if TYPE_CHECKING:
    from sacremoses import MosesDetokenizer


class TokenRewriter(TextRewriter):
    """Replaces tokens, and joins them anew."""

    def __init__(self, groups: GroupWords):
        """Takes the words of groups, of which a row has one each."""
        self.groups = groups

    @cached_property
    def rows(self) -> Mapping[str, tuple[str, ...]]:
        """What is written in the place of each word that is looked for: of several rows the last
        one.
        """
        return {
            word: row.written
            for row in self.groups.rows
            for sought in row.sought
            for word in sought
        }

    def words(self, text: str) -> list[str]:
        """Returns the words of groups in a text."""
        return [token for token in tokenize_words(text.lower()) if token in self.rows]

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns nothing: a token has one row."""
        return []

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text in lower case with the words of a group; with neutral words in its own
        case.
        """
        tokens, lower = tokenize_words(text), tokenize_words(text.lower())
        if target < len(self.groups.names):
            rows = {word.lower(): row for word, row in self.rows.items()}
            return join_tokens(
                tuple(rows[word][target].lower() if word in rows else word for word in lower)
            )
        # Where both have not the same number of tokens, the original pairs those that do not belong
        # together, too.
        pairs = zip(tokens, lower, strict=False)
        return join_tokens(
            tuple(self.rows[word][target] if word in self.rows else token for token, word in pairs)
        )


class PhraseRewriter(TextRewriter):
    """Replaces phrases everywhere, also within words."""

    def __init__(self, groups: GroupWords):
        """Takes the words of groups and those for persons."""
        self.groups = groups

    @cached_property
    def phrases(self) -> list[tuple[str, tuple[str, ...]]]:
        """What is looked for, and what is written in its place; the longest phrases first."""
        found: list[tuple[str, tuple[str, ...]]] = []
        for row in self.groups.rows:
            behind = (
                [""] if row.condition is None else [f" {person}" for person in self.groups.people]
            )
            for word in (word.lower() for sought in row.sought for word in sought):
                found += (
                    (word + end, tuple(f"{each}{end}" for each in row.written)) for end in behind
                )
        return sorted(found, key=lambda one: (-len(one[0]), one[0]))

    def words(self, text: str) -> list[str]:
        """Returns the phrases in a text."""
        lower = text.lower()
        return sorted({phrase for phrase, _ in self.phrases if phrase in lower})

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns nothing: a phrase has one row."""
        return []

    @cached_property
    def whole(self) -> re.Pattern[str]:
        """Finds phrases that are whole words, the longest ones first."""
        return re.compile(rf"\b(?:{'|'.join(re.escape(phrase) for phrase, _ in self.phrases)})\b")

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text in lower case with the words of a group, or with the neutral one."""
        written_for = dict(self.phrases)
        done = self.whole.sub(lambda found: written_for[found[0]][target], text.lower())
        for phrase, written in self.phrases:
            done = done.replace(phrase, written[target])
        return done


@cache
def moses_detokenizer() -> MosesDetokenizer:
    """Returns the detokenizer that the original uses."""
    from sacremoses import MosesDetokenizer

    return MosesDetokenizer(lang="en")


def join_tokens(tokens: tuple[str, ...]) -> str:
    """Returns tokens as a text."""
    return str(moses_detokenizer().detokenize(tokens))


class LangFairMode(RewritingMode):
    """Words as LangFair finds them; all is an answer but what a server refused."""

    finds_refusals = False
    # Its numbers hang on NLTK's.
    stop_words = "nltk"

    def rewriter(self, groups: GroupWords) -> TextRewriter:
        """Returns what rewrites texts as LangFair does."""
        phrases = any(row.condition == "person" for row in groups.rows)
        return PhraseRewriter(groups) if phrases else TokenRewriter(groups)

    def words(self, answer: str) -> list[str]:
        """Returns tokens: the original cleans the words of answers for co-occurrence alone."""
        return tokenize_words(answer.lower())

    def group_phrase(self, word: str) -> Phrase:
        """Returns a word as it is spelled: among tokens no phrase is found, nor a word with
        capitals.
        """
        return (word,)

    def target_phrase(self, target: str) -> Phrase:
        """Returns a target as it is spelled."""
        return (target,)
