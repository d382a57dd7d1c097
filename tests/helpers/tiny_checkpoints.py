"""Checkpoints of every architecture with random weights and trained tokenizers, and small datasets
they can answer.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import torch
from questions import Template, questions_of
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    PreTrainedTokenizerFast,
    set_seed,
)

from biasgrid.training.tiny import make_base_checkpoint

HEADS = {"fill-mask": AutoModelForMaskedLM, "question-answering": AutoModelForQuestionAnswering}
CASE_HEADS = {**HEADS, "text-classification": AutoModelForSequenceClassification}
ALL_HEADS = {**CASE_HEADS, "feature-extraction": AutoModel}
LABELS = ["contradiction", "neutral", "entailment"]
"""The classes of tiny classifiers."""
TOKENIZERS = {
    "bert": "word pieces",
    "distilbert": "word pieces",
    "electra": "word pieces",
    "roberta": "bytes",
    "modernbert": "bytes",
    "albert": "metaspace",
    "deberta-v2": "metaspace",
    "funnel": "word pieces",
    "roberta-prelayernorm": "bytes",
}
"""Architectures that have a head for every task."""
OTHER_TOKENIZERS = {"xlnet": "metaspace", "gpt2": "bytes", "bart": "bytes"}
"""Architectures that have none for a masked language model."""
SIZES: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    "roberta": {"type_vocab_size": 1},
    "roberta-prelayernorm": {"type_vocab_size": 1},
    "electra": {"embedding_size": 16},
    "albert": {"embedding_size": 16},
    "deberta-v2": {
        "relative_attention": True,
        "position_biased_input": False,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": 8,
        "share_att_key": True,
    },
    "funnel": {"block_sizes": [1, 1], "d_head": 16, "d_inner": 64, "num_decoder_layers": 1},
    "xlnet": {"d_inner": 64, "d_head": 16},
    "gpt2": {"pad_token_id": None},
    "bart": {
        "encoder_layers": 1,
        "decoder_layers": 1,
        "decoder_attention_heads": 2,
        "init_std": 0.2,
    },
}
"""What an architecture sizes in its own way."""
NOT_SIZED = {
    "funnel": ("max_position_embeddings", "num_hidden_layers"),
    "xlnet": ("max_position_embeddings",),
}
"""What it does not size at all, as its positions are relative or its layers stand in blocks."""
NAMES = ["Ann", "Carl", "Zoë"]
SUBJECTS = {"fill-mask": NAMES, "question-answering": [*NAMES[1:], "African-American"]}
TEMPLATES = {
    "question-answering": [
        Template(
            "A [subj1] man met a [subj2] man, who is no [subj1] man.", "Who [act]?", "Who [act]?"
        ),
        Template(
            "[subj1] sat by [subj2].", "Who of [subj1] and [subj2] [act]?", "Who of both [act]?"
        ),
    ],
    "fill-mask": [
        Template(
            "The cook sat by [subj1] and [subj2].", "The [mask] man [act].", "The [mask] man [act]."
        ),
        Template(
            "There is [subj1] with [subj2], the cook.",
            "[mask] is who [act].",
            "[mask] is who [act].",
        ),
    ],
}
ACTS = [("was a good cook", "can never be a good cook"), ("lied", "never lied")]
GROUPS = ["female", "male", "female"]


def instances_for(
    task: str,
    mask: str | None = None,
    names: list[str] | None = None,
    pronouns: dict[str, str] | None = None,
) -> pl.DataFrame:
    """48 instances of several lengths: 3 subjects in every order, 2 templates, 2 acts, plain and
    negated.
    """
    names = names or SUBJECTS[task]
    lead = "[aug] yes no  (CNN) --  " if task == "question-answering" else ""
    words = [pronouns[group] for group in GROUPS] if pronouns else []
    return questions_of(TEMPLATES[task], names, ACTS, mask, lead, words)


def texts() -> list[str]:
    """The words of both datasets, names so often that every tokenizer keeps them whole."""
    sentences = {
        segment
        for task in HEADS
        for column in ("text_pair", "text")
        for segment in instances_for(task, "", NAMES)[column].cast(pl.String)
    }
    return [
        *sorted(sentences),
        "The African-American man",
        *(f"There {name} is" for name in NAMES * 20),
    ]


def make_tokenizer(kind: str, architecture: str) -> PreTrainedTokenizerFast:
    """Trains a tokenizer of the architecture's kind, with the special tokens around texts that it
    uses.
    """
    return {"word pieces": word_pieces, "bytes": byte_pairs, "metaspace": metaspace}[kind](
        architecture
    )


def word_pieces(architecture: str) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    train(
        backend,
        trainers.WordPieceTrainer(vocab_size=150, special_tokens=list(BERT_TOKENS.values())),
    )
    return bert_like(backend, "[CLS]:2 $A [SEP]" if architecture == "funnel" else "[CLS] $A [SEP]")


BERT_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
ROBERTA_TOKENS = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


def bert_like(
    backend: Tokenizer, first: str = "[CLS] $A [SEP]", last: str = "", types: bool = True
) -> PreTrainedTokenizerFast:
    """BERT: [CLS] text [SEP], [CLS] text [SEP] text [SEP]; XLNet: the same with [CLS] at the
    end.
    """
    named = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single=first + last, pair=f"{first} $B:1 [SEP]:1{last}", special_tokens=named
    )
    names = ["input_ids", *(["token_type_ids"] if types else []), "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=128, model_input_names=names, **BERT_TOKENS
    )


def byte_pairs(architecture: str) -> PreTrainedTokenizerFast:
    """RoBERTa: <s> text </s></s> text </s>; ModernBERT: byte-level too, but with BERT's special
    tokens.
    """
    names = BERT_TOKENS if architecture == "modernbert" else ROBERTA_TOKENS
    backend = Tokenizer(models.BPE(unk_token=names["unk_token"]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    mask = AddedToken(names["mask_token"], lstrip=True)
    special = [*[token for token in names.values() if token != names["mask_token"]], mask]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    train(
        backend,
        trainers.BpeTrainer(vocab_size=450, special_tokens=special, initial_alphabet=alphabet),
    )
    if architecture == "modernbert":
        return bert_like(backend, types=False)
    ids = backend.get_vocab()
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=128,
        model_input_names=["input_ids", "attention_mask"],
        cls_token="<s>",
        sep_token="</s>",
        **(names | {"mask_token": mask}),
    )


def metaspace(architecture: str) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    mask = AddedToken("[MASK]", lstrip=True)
    special = [*[token for token in BERT_TOKENS.values() if token != "[MASK]"], mask]
    train(
        backend, trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="[UNK]")
    )
    # So that a model which is not told the token types of a single text is noticed.
    return (
        bert_like(backend, "$A [SEP]", " [CLS]:2")
        if architecture == "xlnet"
        else bert_like(backend, "[CLS]:1 $A [SEP]")
    )


def train(backend: Tokenizer, trainer: Any) -> None:
    trainer.show_progress = False
    backend.train_from_iterator(texts(), trainer)


def make_model(architecture: str, task: str, tokenizer: PreTrainedTokenizerFast) -> Any:
    """Makes a model whose random weights are large enough for its predictions to differ from
    uniform ones.
    """
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 130,
        "initializer_range": 0.2,
        "type_vocab_size": 2,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "cls_token_id": tokenizer.cls_token_id,
        "sep_token_id": tokenizer.sep_token_id,
    }
    sizes |= SIZES.get(architecture, {})
    for size in NOT_SIZED.get(architecture, ()):
        del sizes[size]
    if task == "text-classification":
        sizes |= {
            "id2label": dict(enumerate(LABELS)),
            "label2id": {label: place for place, label in enumerate(LABELS)},
        }
    torch.manual_seed(1)
    return ALL_HEADS[task].from_config(AutoConfig.for_model(architecture, **sizes))


def save_checkpoint(architecture: str, task: str, folder: Path) -> Path:
    """Writes a checkpoint of an architecture for a task, and returns its folder."""
    tokenizer = make_tokenizer((TOKENIZERS | OTHER_TOKENIZERS)[architecture], architecture)
    make_model(architecture, task, tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_models_of_lists(files: Iterable[Path], folder: Path) -> None:
    """Writes a masked and a question-answering model that know all words of some lists: `lm` and
    `qa`.
    """
    words = [path.read_text().replace("[", " [").replace("]", "] ") for path in files]
    make_base_checkpoint(words, folder / "lm", seed=1)
    AutoModelForQuestionAnswering.from_pretrained(folder / "lm").save_pretrained(folder / "qa")
    AutoTokenizer.from_pretrained(folder / "lm").save_pretrained(folder / "qa")


def save_classifier(folder: Path, base: Path, labels: list[str]) -> None:
    """Writes a random classifier whose checkpoint names its classes in its own order and in capital
    letters.
    """
    set_seed(3)
    names = {place: label.upper() for place, label in enumerate(reversed(labels))}
    model = AutoModelForSequenceClassification.from_pretrained(
        base, num_labels=len(labels), id2label=names
    )
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
