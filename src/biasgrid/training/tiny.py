"""Makes tiny models with random weights, from which models of synthetic bias are trained."""

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

from biasgrid.training.train import save_checkpoint

TINY_MASK = "[MASK]"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", TINY_MASK)
WIDTH, LAYERS, LONGEST = 64, 2, 512
LARGE_WEIGHTS = {"bert": 0.14, "llama": 0.2}
"""Standard deviation of initial weights. BERT's 0.02 suits a width of 768; a model this narrow
barely learns from weights that small.
"""


def make_base_checkpoint(
    texts: Iterable[str], folder: str | Path, seed: int, *, causal: bool = False
) -> None:
    """Writes a tiny model with random weights, and a tokenizer that knows every word of some texts.

    The same words and seed give the same bytes, whatever the order of the texts.

    Args:
        texts: the texts whose words become the vocabulary, one token each.
        folder: the folder of model and tokenizer; created if it is missing.
        seed: the seed of the weights.
        causal: makes a Llama, which sees only the words before each word, in place of a BERT.
    """
    tokenizer = make_tokenizer(texts)
    set_seed(seed)
    vocabulary_size = len(tokenizer)
    model = make_llama(vocabulary_size) if causal else make_bert(vocabulary_size)
    save_checkpoint(model, tokenizer, Path(folder))


def make_bert(vocabulary_size: int) -> BertForMaskedLM:
    """Makes a model that sees all words of a text."""
    config = BertConfig(
        vocab_size=vocabulary_size,
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
    # Answers depend on the word more than on its position, and the model learns that sooner if
    # embeddings of words are larger.
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight.mul_(0.5)
        model.bert.embeddings.token_type_embeddings.weight.zero_()
    return model


def make_llama(vocabulary_size: int) -> LlamaForCausalLM:
    """Makes a model that sees the words before each word, and their distances from it.

    Lettered options have the same distance from the end of every prompt, so distances show a model
    where they are sooner than positions from the beginning would, as in GPT-2.
    """
    config = LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=8,
        intermediate_size=128,
        max_position_embeddings=LONGEST,
        # Llama's 10,000 is for distances of thousands of words; these texts have few.
        rope_parameters={"rope_type": "default", "rope_theta": 10.0},
        initializer_range=LARGE_WEIGHTS["llama"],
        pad_token_id=SPECIAL_TOKENS.index("[PAD]"),
        bos_token_id=SPECIAL_TOKENS.index("[CLS]"),
        eos_token_id=SPECIAL_TOKENS.index("[SEP]"),
    )
    return LlamaForCausalLM(config)


def make_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Makes a lower-casing tokenizer with BERT's special tokens and a token per word of some texts.

    Unlike BERT's own it keeps words with a hyphen whole, so that a subject such as
    African-American is a single token at a mask.
    """
    backend = Tokenizer(word_level(SPECIAL_TOKENS))
    backend.normalizer = BertNormalizer()
    backend.pre_tokenizer = splitter = word_splitter()
    words: set[str] = set()
    for text in texts:
        normal_text = backend.normalizer.normalize_str(text)
        words.update(word for word, _ in splitter.pre_tokenize_str(normal_text))
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


def word_splitter() -> PreTokenizer:
    """Returns a splitter at white space and around punctuation other than hyphens."""
    white_space = Split(Regex(r"\s+"), behavior="removed")
    punctuation = Split(Regex(r"[^\w\s-]"), behavior="isolated")
    return Sequence([white_space, punctuation])
