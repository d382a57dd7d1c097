"""The formulas that score a sentence (answers of the kind `likelihood`), with their sources.

Published formulas disagree on the same sentences, so each has a name of its own. Planning imports
this module, so that it imports neither torch nor polars.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from biasgrid.inference.input_counts import InputCounts

ANSWER_KIND = "likelihood"
BLANK = "BLANK"
"""Takes the place of the scored word in a context."""


class SentenceScoring(NamedTuple):
    """A formula that scores a sentence.

    Attributes:
        description: the formula in a sentence.
        source: its publication.
        task: the task of its models.
        needs: the content of `text_pair`: the `partner` that the sentence is compared with, its
            `context`, or "" for nothing.
        inputs: the number of inputs that the model reads: `each` is one per scored token.
        unit: the unit of the score; a `probability` is between 0 and 1.
        reads: the scored tokens: `all`, or the tokens that the sentence and its partner share
            (`shared`) or do not share (`differing`).
        total: whether the score is a sum over tokens, which falls with their number; else it is a
            mean.
        decimals: the decimals to which the original code rounds scores before it compares them;
            None if it does not round.
        without_start: whether sentences are also scored without the start token that the formula
            adds, after the tokens that the tokenizer itself adds.
        starts_alone: whether the first token is read behind the start token in a row of its own,
            and all others without the start token.
        is_served: whether it is for models behind servers, which read a sentence back; else it is
            for weights here.
    """

    description: str
    source: str
    task: str
    needs: Literal["", "partner", "context"] = ""
    inputs: Literal["each", "one"] = "one"
    unit: Literal["log-probability", "probability"] = "log-probability"
    reads: Literal["all", "shared", "differing"] = "all"
    total: bool = False
    decimals: int | None = None
    without_start: bool = False
    starts_alone: bool = False
    is_served: bool = False

    def inputs_read(
        self, sentence: Sequence[Hashable], pair: Sequence[Hashable], special: int
    ) -> InputCounts:
        """Returns about what a model reads to score a sentence.

        Args:
            sentence: the tokens of the sentence, special tokens included.
            pair: the tokens of the partner or of the context without `BLANK`, likewise; empty if
                the formula needs neither.
            special: the number of special tokens of a text.
        """
        own_count = len(sentence) - special
        if self.task == CAUSAL:
            # A row has a token for the beginning, and lacks the last one, which is only predicted.
            read_count = own_count + max(0, len(pair) - special)
            if self.without_start:
                return InputCounts(2, 2 * read_count)
            return InputCounts(2 if self.starts_alone else 1, read_count)
        if self.inputs == "one":
            # A pair has one special token less than two texts.
            behind_context = len(pair) - 1 if self.needs == "context" else 0
            return InputCounts(1, len(sentence) + behind_context)
        scored_count = max(1, self._scored_count(sentence, pair, own_count))
        return InputCounts(scored_count, len(sentence) * scored_count)

    def _scored_count(
        self, sentence: Sequence[Hashable], pair: Sequence[Hashable], own_count: int
    ) -> int:
        """Returns how many tokens of a sentence are scored; see `inputs_read`."""
        if self.needs == "partner":
            alignment = align_tokens(sentence, pair)
            positions = alignment.shared if self.reads == "shared" else alignment.differing
            return len(positions[0])
        if self.needs == "context":
            # The tokens of the word, which the sentence has and the context without BLANK lacks.
            return len(sentence) - len(pair)
        return own_count


MASKED, CAUSAL = "fill-mask", "text-generation"
CROWS_PAIRS = "Nangia et al., EMNLP 2020"
AUL = "Kaneko and Bollegala, AAAI 2022"
STEREOSET = "Nadeem et al., ACL 2021"
BIAS_BENCH = "bias-bench"

SCORINGS: dict[str, SentenceScoring] = {
    "cps": SentenceScoring(
        "sum over the tokens that both sentences share, each masked alone; BERT and ALBERT read "
        "lower case",
        CROWS_PAIRS,
        MASKED,
        needs="partner",
        reads="shared",
        inputs="each",
        total=True,
        decimals=3,
    ),
    "aul": SentenceScoring("mean over all tokens, nothing masked", AUL, MASKED),
    "aula": SentenceScoring(
        "as `aul`, each token weighted by the attention that it receives", AUL, MASKED
    ),
    "sss": SentenceScoring(
        "mean over the tokens that differ between the sentences, all of them masked together",
        f"{STEREOSET}, as {AUL} write it",
        MASKED,
        needs="partner",
        reads="differing",
    ),
    "sss-table": SentenceScoring(
        "as the published code of `sss` computes it: if several tokens differ, the mean over the "
        "probabilities of each of them in the place of each of them, which is a fault of that code",
        AUL,
        MASKED,
        needs="partner",
        reads="differing",
    ),
    "span-mean": SentenceScoring(
        "mean over the tokens that differ between the sentences, each masked alone",
        BIAS_BENCH,
        MASKED,
        needs="partner",
        reads="differing",
        inputs="each",
        decimals=3,
    ),
    "pll": SentenceScoring(
        "sum over all tokens, each masked alone",
        "Salazar et al., ACL 2020",
        MASKED,
        inputs="each",
        total=True,
    ),
    "pll-l2r": SentenceScoring(
        "as `pll`, the later tokens of the same word masked too",
        "Kauf and Ivanova, ACL 2023",
        MASKED,
        inputs="each",
        total=True,
    ),
    "stereoset": SentenceScoring(
        "mean probability of the tokens of the word at BLANK, the later ones of them left out; "
        "words are tokenized without a space before them, which is a fault with RoBERTa",
        STEREOSET,
        MASKED,
        needs="context",
        inputs="each",
        unit="probability",
    ),
    "stereoset-biasbench": SentenceScoring(
        "as `stereoset`, words of RoBERTa tokenized with the space before them",
        BIAS_BENCH,
        MASKED,
        needs="context",
        inputs="each",
        unit="probability",
    ),
    "next-sentence": SentenceScoring(
        "probability that the sentence follows its context, from the head of BERT that was "
        "trained for it",
        STEREOSET,
        MASKED,
        needs="context",
        unit="probability",
    ),
    "sum": SentenceScoring(
        "sum over all tokens, after the tokenizer's token for the beginning of a text (or for the "
        "end, if it has no such token)",
        "lm-evaluation-harness",
        CAUSAL,
        total=True,
        without_start=True,
    ),
    "mean": SentenceScoring(
        "mean over all tokens; the first token is read after the token for the beginning of a "
        "text, each other token only after those before it. bias-bench and StereoSet "
        "publish its exponential",
        f"{BIAS_BENCH}; {STEREOSET}",
        CAUSAL,
        starts_alone=True,
    ),
    "context-mean": SentenceScoring(
        "mean over the tokens of the sentence after its context; the token for the beginning of a "
        "text comes before the context",
        "biasgrid",
        CAUSAL,
        needs="context",
    ),
    "echo-sum": SentenceScoring(
        "sum over the tokens that a server scores when it reads the sentence back; the first one "
        "is among them only if the server puts a token before it",
        "biasgrid",
        CAUSAL,
        total=True,
        is_served=True,
    ),
    "echo-mean": SentenceScoring(
        "mean over the same tokens as `echo-sum`", "biasgrid", CAUSAL, is_served=True
    ),
}
"""All formulas by name."""


def scoring_names(task: str, *, is_served: bool = False) -> list[str]:
    """Returns the names of the formulas for models of a task.

    Args:
        task: the task.
        is_served: whether the models are behind servers.
    """
    return [
        name
        for name, scoring in SCORINGS.items()
        if scoring.task == task and scoring.is_served == is_served
    ]


class Alignment(NamedTuple):
    """Positions of tokens: each field has a list for the first and for the second sentence.

    Attributes:
        shared: positions of the tokens that both sentences share, without the first and the last
            of these, which are special tokens. Both lists have the same length.
        differing: positions of the tokens that are not shared; special tokens are not among them.
    """

    shared: tuple[list[int], list[int]]
    differing: tuple[list[int], list[int]]


def align_tokens(
    first_sentence: Iterable[Hashable], second_sentence: Iterable[Hashable]
) -> Alignment:
    """Finds the tokens that two sentences share, as the code of CrowS-Pairs does.

    The order of the sentences can change the result.

    Args:
        first_sentence: token ids, with one special token at the beginning and one at the end.
        second_sentence: likewise.
    """
    first_tokens = list(map(str, first_sentence))
    second_tokens = list(map(str, second_sentence))
    shared_first: list[int] = []
    shared_second: list[int] = []
    matcher = SequenceMatcher(None, first_tokens, second_tokens)
    for first_start, second_start, size in matcher.get_matching_blocks():
        shared_first += range(first_start, first_start + size)
        shared_second += range(second_start, second_start + size)
    differing_first = sorted({*range(len(first_tokens))} - {*shared_first})
    differing_second = sorted({*range(len(second_tokens))} - {*shared_second})
    shared = (shared_first[1:-1], shared_second[1:-1])
    return Alignment(shared, (differing_first, differing_second))
