"""Causal language models with random weights and trained tokenizers, and the plain way to ask
them.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

LETTERS = "Answer with A or B."
STATEMENTS = [
    f"{who} {what}."
    for who in ("A cook", "The old man", "Zoë from Wales")
    for what in ("lies", "sat by the sea")
]
CORPUS = [
    *STATEMENTS,
    f"{LETTERS} Is this true? Answer Yes or No. Answer: Yes Answer: No Answer: A Answer: B",
    "You are asked about short texts. A helpful answer is short. Who was it? Nobody can tell.",
]
SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "llama": {"num_key_value_heads": 1},
    "phi": {},
    "gemma3_text": {"num_key_value_heads": 1, "head_dim": 16, "sliding_window": 16},
    "mamba": {"state_size": 8},
    "jamba": {
        "num_key_value_heads": 1,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 2,
        "mamba_d_state": 8,
        "mamba_dt_rank": 4,
        "use_mamba_kernels": False,
    },
}
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>\n"
    "{{ message.content | trim }}</s>\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n"
    "{% endif %}"
)
WITHOUT_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('No system role') }}{% endif %}"
    + CHAT_TEMPLATE
)
FORGETS_SYSTEM = CHAT_TEMPLATE.replace(
    "for message in messages", "for message in messages if message.role == 'user'"
)
THINKS = CHAT_TEMPLATE.replace("<|assistant|>\n", "<|assistant|>\n<think>\n")
THINKS_IF_ASKED = CHAT_TEMPLATE.replace(
    "<|assistant|>\n",
    "<|assistant|>\n{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}",
)
TOKENS = ["<s>", "</s>", "<unk>", "<|system|>", "<|user|>", "<|assistant|>"]
THOUGHTS = ["<think>", "</think>"]


def make_tokenizer(template: str | None = None, positions: int = 256) -> PreTrainedTokenizerFast:
    """Trains byte pairs, with `<s>` before a text."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=TOKENS, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(CORPUS * 3, trainer)
    backend.add_tokens(THOUGHTS)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=positions,
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        pad_token="</s>",
        additional_special_tokens=TOKENS[3:],
    )
    tokenizer.chat_template = template
    return tokenizer


def save_writer(
    folder: Path,
    architecture: str = "llama",
    template: str | None = None,
    positions: int = 256,
    ends: float = 1,
    dtype: torch.dtype = torch.float32,
) -> Path:
    """Writes a causal language model whose random weights are large enough for its answers to
    differ; it is published in `dtype`.

    With `ends` the weights of the token that ends a text are as many times as large: some 10 end
    most texts soon, which go on to their limit otherwise.
    """
    tokenizer = make_tokenizer(template, positions)
    config = AutoConfig.for_model(
        architecture,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        vocab_size=len(tokenizer),
        max_position_embeddings=positions,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=1,
        **SIZES[architecture],
    )
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config)
    if "mamba" in architecture or architecture == "jamba":
        for weights in model.parameters():
            if weights.dim() > 1:
                torch.nn.init.normal_(weights, std=0.2)
    model.get_output_embeddings().weight.data[1] *= ends
    # What a checkpoint suggests must change nothing.
    model.generation_config.update(do_sample=True, top_k=2, temperature=0.2, repetition_penalty=5.0)
    model.to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def add_nothing(folder: Path) -> Path:
    """Changes the tokenizer of a checkpoint, so that it adds no tokens to a text, as those of GPT-2
    and Qwen.
    """
    file = folder / "tokenizer.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"post_processor": None}))
    return folder


def save_letter_writer(folder: Path, scores: Mapping[str, float]) -> Path:
    """Writes a chat model that begins its answers with some tokens, whatever it is asked.

    Args:
        folder: where it goes.
        scores: what is added to the scores of these tokens; those of others have a spread of about
            1.
    """
    save_writer(folder, "phi", CHAT_TEMPLATE, positions=1024)
    tokenizer, model = (
        AutoTokenizer.from_pretrained(folder),
        AutoModelForCausalLM.from_pretrained(folder),
    )
    for token, score in scores.items():
        (number,) = tokenizer(token, add_special_tokens=False).input_ids
        model.lm_head.bias.data[number] += score
    model.save_pretrained(folder)
    return folder


class PlainWriter:
    """A checkpoint used without the engine."""

    def __init__(self, checkpoint: Path):
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.model = AutoModelForCausalLM.from_pretrained(checkpoint).eval()

    def prompt(self, system: str | None, text: str) -> str:
        """The whole prompt."""
        if self.tokenizer.chat_template is None:
            return f"<s>{system}\n\n{text}" if system else f"<s>{text}"
        messages = [{"role": "system", "content": system}] if system else []
        return str(
            self.tokenizer.apply_chat_template(
                [*messages, {"role": "user", "content": text}],
                tokenize=False,
                add_generation_prompt=True,
            )
        )

    @torch.inference_mode()
    def probability(self, prompt: str, words: Sequence[str], marked: Sequence[str] = ()) -> float:
        """The probability that an answer begins with one of some words, or with one of them and its
        marks.

        The prompt keeps its tokens, except for white space at its end.
        """
        begun = self.ids(prompt)
        forms = [f"{lead}{word}" for word in words for lead in ("", " ")]
        forms_with_marks = [f"{lead}{word}" for word in marked for lead in ("", " ")]
        common = len(begun)
        if prompt[-1].isspace():
            common = min(self.unchanged(begun, f"{prompt}{form}") for form in forms)
        ends = set()
        for form in [*forms, *forms_with_marks]:
            ids = self.ids(f"{prompt}{form}")
            if ids[:common] == begun[:common]:
                ends.add(tuple(ids[common:]))
            elif common == len(begun):
                ends.add(tuple(self.ids(form)))
        ends = {
            end
            for end in ends
            if not any(end != other and end[: len(other)] == other for other in ends)
        }
        return sum(self.joint(begun[:common], end) for end in ends)

    def unchanged(self, begun: Sequence[int], text: str) -> int:
        """How many tokens a text shares with the tokens that are given."""
        pairs = zip(self.ids(text), begun, strict=False)
        return next((at for at, (a, b) in enumerate(pairs) if a != b), len(begun))

    @torch.inference_mode()
    def joint(self, context: Sequence[int], tokens: Sequence[int]) -> float:
        """The probability of tokens behind others, token by token."""
        product = 1.0
        for place, token in enumerate(tokens):
            logits = self.model(input_ids=torch.tensor([[*context, *tokens[:place]]])).logits[0, -1]
            product *= float(logits.softmax(dim=0)[token])
        return product

    def ids(self, text: str) -> list[int]:
        """The tokens of a text in which special ones are written out."""
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)
