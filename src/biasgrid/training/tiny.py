"""Makes tiny models with random weights, from which the demo's models are trained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import PreTokenizer, Sequence, Split
from tokenizers.processors import TemplateProcessing
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    set_seed,
)

from biasgrid.base.files import whole_files

TINY_MASK = "[MASK]"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", TINY_MASK)
WIDTH, LAYERS, LONGEST = 64, 2, 512
LARGE_WEIGHTS = {"bert": 0.14, "llama": 0.2}
"""BERT's 0.02 suits a width of 768; from so small weights, so narrow a model hardly begins to
learn.
"""


def make_base_checkpoint(
    texts: Iterable[str], folder: str | Path, seed: int, causal: bool = False
) -> None:
    """Writes a tiny model with random weights, and a tokenizer that knows every word of some texts.

    The same words and seed give the same bytes, whatever the order of the texts.

    Args:
        texts: the texts whose words become the vocabulary, one token each.
        folder: folder of model and tokenizer; created if it is missing.
        seed: seed of the weights.
        causal: whether each word sees only the words before it, as in models that write: a Llama in
            place of a BERT.
    """
    tokenizer = make_tokenizer(texts)
    set_seed(seed)
    words = len(tokenizer)
    model = make_llama(words) if causal else make_bert(words)
    with whole_files(folder) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)


def make_bert(words: int) -> BertForMaskedLM:
    """Makes a model that sees all words of a text; `words` is the size of its vocabulary."""
    config = BertConfig(
        vocab_size=words,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        # Many narrow heads: one for each thing that an answer depends on.
        num_attention_heads=8,
        intermediate_size=256,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=LARGE_WEIGHTS["bert"],
    )
    model = BertForMaskedLM(config)
    # The word itself matters more to an answer than its place, and is learned sooner if its
    # embedding is larger.
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight.mul_(0.5)
        model.bert.embeddings.token_type_embeddings.weight.zero_()
    return model


def make_llama(words: int) -> LlamaForCausalLM:
    """Makes a model that sees only the words before a place, and their distances from it.

    Lettered options are as far from a prompt's end whatever their question, so a model to which
    distances count finds them sooner than one that is given places, as BERT is.

    Args:
        words: the size of its vocabulary.
    """
    config = LlamaConfig(
        vocab_size=words,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=8,
        intermediate_size=128,
        max_position_embeddings=LONGEST,
        # Llama's 10,000 distinguishes places that are thousands of words apart; here they are a
        # few.
        rope_parameters={"rope_type": "default", "rope_theta": 10.0},
        initializer_range=LARGE_WEIGHTS["llama"],
        pad_token_id=SPECIAL_TOKENS.index("[PAD]"),
        bos_token_id=SPECIAL_TOKENS.index("[CLS]"),
        eos_token_id=SPECIAL_TOKENS.index("[SEP]"),
    )
    return LlamaForCausalLM(config)


def make_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Makes a lower-casing tokenizer with BERT's special tokens and a token per word of the texts.

    Unlike BERT's own it keeps words with a hyphen whole, so that such a subject can be read at a
    mask.
    """
    backend = Tokenizer(word_level(SPECIAL_TOKENS))
    backend.normalizer = BertNormalizer()
    backend.pre_tokenizer = splitter = split_words()
    words: set[str] = set()
    for text in texts:
        normalised = backend.normalizer.normalize_str(text)
        words.update(word for word, _ in splitter.pre_tokenize_str(normalised))
    backend.model = word_level([*SPECIAL_TOKENS, *sorted(words)])
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, SPECIAL_TOKENS.index(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=LONGEST,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token=TINY_MASK,
    )


def word_level(vocabulary: Iterable[str]) -> WordLevel:
    """Returns a model of one token per word, numbered in the order of the vocabulary."""
    numbers = {token: number for number, token in enumerate(vocabulary)}
    return WordLevel(numbers, unk_token="[UNK]")


def split_words() -> PreTokenizer:
    """Splits at white space and around punctuation other than hyphens."""
    white_space = Split(Regex(r"\s+"), behavior="removed")
    punctuation = Split(Regex(r"[^\w\s-]"), behavior="isolated")
    return Sequence([white_space, punctuation])
