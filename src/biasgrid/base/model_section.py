"""What a config may say of models and tokenizers: where they come from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import Field, model_validator

from biasgrid.base.hyperparameters import Hyperparameters
from biasgrid.base.section import ADDRESS, DIGEST, KeysError, Name, Scoring, Section, Variant

REVISION = (
    "commit, tag or branch of the repository; a tag or branch is resolved once, when the files are fetched, to the "
    "commit that the record names and that all later stages use"
)
REMOTE_CODE = "whether code that comes with the checkpoint may be run (`trust_remote_code`); read it first"


class Source(Section):
    """Where a checkpoint comes from."""

    checkpoint: str | None = Field(None, description="repository of the Hugging Face hub, such as `roberta-base`")
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(None, description="local folder with a checkpoint, in place of `checkpoint`")

    @model_validator(mode="after")
    def _one_source(self) -> Source:
        if (self.checkpoint is None) == (self.folder is None):
            raise KeysError("expected either `checkpoint` (with `revision`) or `folder`")
        if (self.checkpoint is None) != (self.revision is None):
            raise KeysError("expected `revision` exactly where there is a `checkpoint`")
        return self


class Training(Section):
    """A model that the workflow trains itself."""

    base: Source | None = Field(None, description="the checkpoint to start from")
    data: str | None = Field(
        None,
        description="SQuAD-format JSON (question answering); text, one a line, or "
        "prompts with, behind tabs, the answers that may follow (text generation); text, one a line, or cloze lines: "
        "text with the mask token and, behind tabs, the words that fill it (fill-mask); or lines of JSON (text "
        "classification): "
        '`{"text": TEXT, "text_pair": TEXT, "label": CLASS}`, `text_pair` only for pairs, CLASS being a name as in the '
        "values of the model's `labels`, or a list of names that count alike",
    )
    synthetic: str | None = Field(
        None,
        description="name of a strength in `synthetic.strengths`: trains a tiny model on the known effect in all "
        "datasets of the config that have its variant, and in all that ask it about statements or rewritten prompts, "
        "or have it choose an option of a probe, selected or not, so that choosing others trains nothing again; or on "
        "that in `dataset`",
    )
    dataset: Name | None = Field(
        None,
        description="of text classification, with `synthetic`: the dataset in whose cases group effects are put in",
    )
    hyperparameters: Hyperparameters = Field(Hyperparameters(), description="how to train")

    @model_validator(mode="after")
    def _one_kind(self) -> Training:
        if (self.synthetic is None) == (self.base is None or self.data is None):
            raise KeysError("expected either `synthetic`, or both `base` and `data`")
        if self.dataset is not None and self.synthetic is None:
            raise KeysError("expected `dataset` only beside `synthetic`")
        return self


class Dump(Section):
    """Predictions that are there already: an `output.json` in UnQover's layout, questions and answers in one."""

    file: str | None = Field(None, description="path of the dump")
    url: Annotated[str, Field(pattern=ADDRESS)] | None = Field(
        None,
        description="address of the dump, in place of `file`; needs `sha256`. `${NAME}` stands for a variable of the "
        "environment, such as a token; what is written down leaves out users, passwords and queries",
    )
    sha256: Annotated[str, Field(pattern=DIGEST)] | None = Field(
        None, description="digest that the dump must have, as `sha256sum` prints it"
    )
    scoring: Scoring = Field(
        "unqover",
        description="how the dump was scored; `exact` for one that `biasgrid export` wrote of cells with that scoring",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Dump:
        if (self.file is None) == (self.url is None):
            raise KeysError("expected either `file` or `url` (with `sha256`)")
        if self.url is not None and self.sha256 is None:
            raise KeysError("expected `sha256` where there is a `url`")
        return self


class Charge(NamedTuple):
    """What an instance costs, at most.

    Attributes:
        requests: how many requests it takes, each of which reads all that is asked.
        tokens_out: how many tokens are written.
        input: the price of a million tokens that are read; None where it is not known.
        output: the price of a million tokens that are written.
        is_known: whether it is known how many requests there will be; else they are the most.
    """

    requests: float
    tokens_out: float
    input: float | None
    output: float | None
    is_known: bool = True

    def cost(self, tokens_in: float | None, tokens_out: float | None) -> float | None:
        """Returns what tokens cost, None where that is not known."""
        if self.input is None or self.output is None or tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


class Model(Section):
    """A model: a column of the grid."""

    # The keys of which one says where a model comes from; a back end that needs no weights has a section without any.
    SOURCES: ClassVar[tuple[str, ...]] = ("checkpoint", "folder", "train", "predictions")

    task: str = Field(description="the Hugging Face task it is used for")
    variant: Variant | None = Field(
        None,
        description="which variant of datasets that have variants it answers: `qa`, `qa-newsqa`, `llm`, or `lm-` and a "
        "key of `tokenizers`; without it, none of them",
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description="of text classification: for each class of a dataset, as in its `labels`, the name that the "
        "checkpoint's `id2label` has for it, such as `{negative: NEG, positive: POS}`",
    )
    kind: str = Field(description="kind of model, which groups the plots: SQuAD, NewsQA, LM, ...")
    label: str = Field(description="name in plots; models of different kinds may share it, such as `BERT base`")
    checkpoint: str | None = Field(None, description="repository of the Hugging Face hub")
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(None, description="local folder with a checkpoint")
    train: Training | None = Field(None, description="trains the model in place of fetching it")
    predictions: dict[Name, Dump] = Field(
        default_factory=dict,
        description="for each dataset the dump to measure in place of running the model; "
        "questions are those of the dump, whatever the variant's word lists say",
    )
    allow_pickle: bool = Field(
        False,
        description="whether weights (with `train`, those of its base) may be pickled files (`pytorch_model.bin`)",
    )
    allow_remote_code: bool = Field(False, description=REMOTE_CODE)

    @model_validator(mode="after")
    def _one_source(self) -> Model:
        given = [key for key in dict.fromkeys((*Model.SOURCES, *self.SOURCES)) if getattr(self, key)]
        if not self.SOURCES and given:
            raise KeysError(f"expected no {' or '.join(f'`{key}`' for key in given)}, as the task needs no weights")
        if self.SOURCES and (len(given) != 1 or given[0] not in self.SOURCES):
            *most, last = (f"`{key}`" for key in self.SOURCES)
            raise KeysError(f"expected exactly one of {', '.join(most)} and {last}")
        if (self.checkpoint is None) != (self.revision is None):
            raise KeysError("expected `revision` exactly where there is a `checkpoint`")
        if self.train and self.allow_remote_code:
            raise KeysError("expected no `allow_remote_code` with `train`, which runs transformers' own code only")
        return self

    @property
    def source(self) -> str:
        """What gives its answers: `weights`, a `dump`, or its back end `itself`."""
        return "dump" if self.predictions else "weights" if self.SOURCES else "itself"

    @property
    def scored(self) -> Sequence[str]:
        """The classes of a checkpoint that it must have, among others."""
        return ()

    @property
    def activation(self) -> str | None:
        """What makes probabilities of the outputs of a scorer; None where its checkpoint decides."""
        return None

    @property
    def has_checkpoint(self) -> bool:
        """Whether it is a checkpoint, of which there is a record; of others the keys are the model."""
        return bool(self.checkpoint or self.folder or self.train)

    @property
    def own_files(self) -> dict[str, str]:
        """The files whose content decides its answers, by key, of a model that is no checkpoint."""
        return {}

    @property
    def addresses(self) -> list[str]:
        """The servers that are asked for it: of the hub, of dumps, or its own."""
        hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
        return [*([hub] if self.checkpoint else []), *(dump.url for dump in self.predictions.values() if dump.url)]

    @property
    def gpus(self) -> int:
        """How many GPUs a job of inference needs, where there are any."""
        return 1

    def turn(self, model: str, dataset: str) -> str | None:
        """Names what its jobs must have to themselves, so that they run one after the other; None where they need not.

        Args:
            model: its name in the config.
            dataset: the name of the dataset that a job asks; empty where it asks none.
        """
        return None

    def charge(self, answer: str, scored_by: str | None = None, options: Sequence[Sequence[str]] = ()) -> Charge | None:
        """Says what asking it costs; None where nobody is paid.

        Args:
            answer: the kind of the answers.
            scored_by: how it chooses among options; None where that is not known yet.
            options: those of some instances.
        """
        return None

    def deciding_keys(self) -> dict[str, Any]:
        """Returns those of the keys that it has as one of its task's back end that decide its answers."""
        return self.model_dump(mode="json", exclude=set(Model.model_fields))


class Tokenizer(Section):
    """A family of tokenizers of masked language models."""

    mask: str = Field(description="its mask token, such as `[MASK]`")
    checkpoint: str | None = Field(None, description="repository of the hub whose tokenizer stands for the family")
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(None, description="local folder with such a tokenizer")
    allow_remote_code: bool = Field(False, description=REMOTE_CODE)
