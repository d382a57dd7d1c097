"""Comparing answers of 85 words to prompts rewritten for 4 groups: each text once, or pair by pair
as LangFair does.

Pair by pair, both texts are tokenized and scored anew, by rouge-score, NLTK, sacremoses and VADER;
of that way fewer prompts are timed, and rates compared. For cosines an encoder of MiniLM's shape
with random weights reads each text once, or both of each pair anew, as padded batches of 32.
Seconds are those of the processor; the peak of memory is that of the whole process before anything
is done pair by pair.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import torch
from inference import SETTINGS, engine_of, make_tokenizer, run_engine
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacremoses import MosesDetokenizer
from stopwatch import print_table
from transformers import BertConfig, BertModel
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.responses import sentiment_of
from biasgrid.families.rewriting.group_words import Rewriter, TextRewriter, read_group_words
from biasgrid.families.rewriting.langfair import LangFairMode
from biasgrid.families.rewriting.similarity import SIMILARITIES, cosine_similarity
from biasgrid.families.tokens import sentences_of_text
from biasgrid.inference.models.scorers.text_vectors import EncoderChoices, TextVectors

PROMPTS, TIMED, GROUPS, WORDS = 1000, 40, 4, 85
ENCODED, BATCH = 20, 32
"""How many prompts' answers are encoded pair by pair, and how many texts at once."""
MINILM = {
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
}
PAIRS = GROUPS * (GROUPS - 1) // 2
Way = Callable[[Sequence[str], IntArray], object]
LISTS = Path(__file__).parents[1] / "word_lists/rewriting"
COMMON = (
    "the a of and to in that is was for on with as at by from this which or had not are but have "
    "an they been were their one all more when there can said what up out about who get other new "
    "some could time these two may then do first any my now such like our over me even most made "
    "after also did many before must through years where much"
)
OF_SENSE = (
    "she he her his manager engineer nurse good great bad awful kind strong team work plan meeting "
    "project leader careful honest friendly tired proud failed won helped trusted hired praised "
    "blamed letter report customer idea"
)


def answers(prompts: int) -> list[str]:
    """Returns answers, those to a prompt beside each other, half of whose sentences are the
    same.
    """
    random, words = Random(1), (COMMON.split(), OF_SENSE.split())

    def sentence() -> str:
        text = " ".join(random.choice(words[random.random() < 0.4]) for _ in range(17))
        return f"{text.capitalize()}{random.choice('.!?')}"

    texts = []
    for _ in range(prompts):
        shared = [sentence() for _ in range(3)]
        texts += [" ".join([*shared, sentence(), sentence()]) for _ in range(GROUPS)]
    return texts


def pairs_of(prompts: int) -> IntArray:
    """Returns the places of all pairs of answers to one prompt."""
    of_prompt = np.array(list(combinations(range(GROUPS), 2)))
    places: IntArray = (np.arange(prompts)[:, None, None] * GROUPS + of_prompt).reshape(-1, 2)
    return places


def rewriter(name: str, make: Callable[..., TextRewriter]) -> TextRewriter:
    groups, _ = read_group_words(LISTS / name)
    assert groups is not None
    return make(groups)


def tokens(text: str) -> list[str]:
    return [
        word
        for sentence in sentences_of_text(text)
        for word in NLTKWordTokenizer().tokenize(sentence)
    ]


def pair_by_pair(name: str, texts: Sequence[str], pairs: IntArray) -> None:
    """Does what a loop over pairs does."""
    scorer, detokenizer = RougeScorer(["rougeL"], use_stemmer=True), MosesDetokenizer(lang="en")
    vader, smooth = SentimentIntensityAnalyzer(), SmoothingFunction().method1
    rows = LangFairMode().rewriter(read_group_words(LISTS / "langfair-gender.yaml")[0]).rows  # type: ignore[arg-type, attr-defined]
    for one, other in pairs.tolist():
        both = texts[one], texts[other]
        if name == "rouge-l":
            scorer.score(*both)
        elif name == "bleu":
            first, second = (tokens(text.lower()) for text in both)
            min(
                sentence_bleu([a], b, smoothing_function=smooth)
                for a, b in ((first, second), (second, first))
            )
        elif name == "neutralising":
            for text in both:
                found = zip(tokens(text), tokens(text.lower()), strict=False)
                detokenizer.detokenize(
                    [rows[low][-1] if low in rows else word for word, low in found]
                )
        else:
            for text in both:
                vader.polarity_scores(text)


def each_once(name: str, texts: Sequence[str], pairs: IntArray) -> None:
    """Does what the family does."""
    if name == "neutralising":
        gender = rewriter("gender.yaml", Rewriter)
        for text in dict.fromkeys(texts):
            gender.rewrite(text, len(gender.groups.names))  # type: ignore[attr-defined]
    elif name == "sentiment":
        sentiment_of(pl.Series(texts))
    else:
        SIMILARITIES[name](texts, pairs)


def encode_once(back_end: Any, texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Encodes each text once, in batches of one length, and compares pairs."""
    numbers = pl.int_range(len(texts), dtype=pl.UInt32, eager=True).alias("instance")
    asked = pl.DataFrame({"text": texts}).with_columns(numbers, key=numbers.cast(pl.UInt64))
    return cosine_similarity(
        run_engine(back_end, asked, replace(SETTINGS, token_budget="auto")).with_columns(
            asked["text"]
        )
    )(texts, pairs)


@torch.inference_mode()
def encode_pairs(model: Any, tokenizer: Any, texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Encodes both texts of each pair, in padded batches, and compares them."""
    sides = []
    for side in pairs.T:
        chosen = [texts[place] for place in side]
        vectors = []
        for start in range(0, len(chosen), BATCH):
            inputs = tokenizer(
                chosen[start : start + BATCH],
                padding=True,
                truncation=True,
                max_length=256,
                return_tensors="pt",
            )
            mask = inputs["attention_mask"][:, :, None]
            states = model(**inputs).last_hidden_state
            vectors.append((states * mask).sum(dim=1) / mask.sum(dim=1))
        sides.append(torch.cat(vectors))
    found: FloatArray = torch.nn.functional.cosine_similarity(sides[0], sides[1]).double().numpy()
    return found


def encoder() -> BertModel:
    """Returns an encoder of MiniLM's shape, each time the same."""
    torch.manual_seed(0)
    return BertModel(BertConfig(vocab_size=30522, **MINILM)).eval()


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    texts, tokenizer = answers(PROMPTS), make_tokenizer(Path("word_lists").glob("*/*.txt"))
    back_end = engine_of(TextVectors, encoder(), tokenizer, EncoderChoices(256), "float32")
    once: dict[str, Way] = {
        name: partial(each_once, name) for name in ("rouge-l", "bleu", "neutralising", "sentiment")
    }
    once["cosine"] = partial(encode_once, back_end)
    ours = {}
    for name, way in once.items():
        # What loads data does so before.
        way(texts[:GROUPS], pairs_of(1))
        ours[name] = seconds(lambda way=way: way(texts, pairs_of(PROMPTS)))  # type: ignore[misc]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3

    model, rows = encoder(), []
    some = texts[:GROUPS], pairs_of(1)
    np.testing.assert_allclose(
        encode_once(back_end, *some), encode_pairs(model, tokenizer, *some), atol=1e-4
    )
    for name in once:
        pairs = pairs_of(ENCODED if name == "cosine" else TIMED)
        way = (
            partial(encode_pairs, model, tokenizer)
            if name == "cosine"
            else partial(pair_by_pair, name)
        )
        theirs = seconds(partial(way, texts, pairs)) * PROMPTS * PAIRS / len(pairs)
        taken = ours[name], theirs
        rates = (f"{PROMPTS * PAIRS / each:,.0f}" for each in taken)
        rows.append(
            (name, *(f"{each:,.2f}" for each in taken), *rates, f"{ours[name] / theirs:.3f}")
        )
    print_table(
        ("what", "s, each once", "s, pair by pair", "pairs/s", "pairs/s", "share of the time"), rows
    )
    print(f"peak memory, each once: {peak:,.0f} MB")


if __name__ == "__main__":
    main()
