"""Sections of a config that many rooms share: their base class, and those of models, training and
tokenizers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from biasgrid.base.faults import Fault, value_text

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
VARIANT = r"^(qa|lm|llm)(-[A-Za-z0-9]+)*$"
FOLDER_PATTERN = r"^[^{}<>\x00-\x1f]+$"
HOST = r"([A-Za-z0-9_${}-]+(\.[A-Za-z0-9_${}-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
ADDRESS_PATTERN = rf"^https?://([^\s/?#@]+@)?{HOST}([/?#]\S*)?$"
DIGEST = r"^[0-9a-f]{64}$"
PATH = r"^/[A-Za-z0-9_./-]*$"
VARIABLE_NAME = r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"
NOT_EMPTY = r"\S"
LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
PATTERNS = {
    NOT_EMPTY: "text that is not empty",
    NAME_PATTERN: "a name of letters, digits, `_`, `.` and `-` that begins with a letter or digit, "
    "of at most 100 characters",
    VARIANT: (
        "`qa`, `lm` or `llm`, or one of them with a hyphen and more letters, such as `qa-newsqa` "
        "or `lm-bert`"
    ),
    FOLDER_PATTERN: "a folder whose name contains none of { } < > and no control characters",
    ADDRESS_PATTERN: (
        "an address that begins with http:// or https:// and a host such as example.org, without "
        "white space"
    ),
    PATH: "a path that begins with /, such as /health",
    VARIABLE_NAME: (
        "the name of the environment variable that holds it, such as `${OPENAI_API_KEY}`"
    ),
    LANGUAGE: "a language code, such as `en`, `es` or `pt-BR`",
    DIGEST: "64 hexadecimal digits, as `sha256sum` prints them",
}
"""What the patterns of texts ask for, in words."""
SECRET_PATTERNS = {VARIABLE_NAME}
"""Patterns of which values that do not match are not shown: somebody may have written a secret
there.
"""
REVISION = (
    "commit, tag or branch of the repository. A tag or branch is resolved once, when the files are "
    "fetched; the record names the commit, and all later stages use it"
)
REMOTE_CODE = (
    "whether code that comes with the checkpoint may run (`trust_remote_code`); read "
    "that code first"
)

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Variant = Annotated[str, Field(pattern=VARIANT)]
Scoring = Literal["exact", "unqover"]
TargetScoring = Literal["joint", "pll", "pll-l2r"]


class KeysError(ValueError):
    """Keys of a section that do not go together; says what is expected."""


class Section(BaseModel):
    """A part of a file: no unknown keys, no values of other types, nothing changes after
    reading.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _naming_keys(cls, content: Any) -> Any:
        """Puts the keys that may stand here in place of an unknown key's value: pydantic's errors
        tell values alone.
        """
        keys = list(cls.model_fields)
        if not isinstance(content, dict):
            raise ValueError(f"expected a section of keys such as {', '.join(keys)}")
        named = {
            key if isinstance(key, str) else value_text(key): value
            for key, value in content.items()
        }
        return {key: value if key in keys else keys for key, value in named.items()}


Kind = TypeVar("Kind", bound=Section)


def named_section(key: str, kinds: Mapping[str, type[Kind]], value: Any) -> Kind:
    """Checks a section by what the value of one of its keys says that it is.

    Args:
        key: the key.
        kinds: the sections, by what stands there.
        value: what is checked.

    Raises:
        ValidationError: with all that is wrong with it.
        ValueError: it is no section.
    """
    if not isinstance(value, dict):
        raise ValueError(
            f"expected one of {', '.join(sorted(kinds))}, or keys with one of them in `{key}`"
        )
    name = value.get(key)
    if not isinstance(name, str) or name not in kinds:
        raise ValidationError.from_exception_data("Section", [not_one_of(key, name, list(kinds))])
    return kinds[name].model_validate(value)


def not_one_of(key: str, value: Any, allowed: Sequence[str]) -> InitErrorDetails:
    """Returns the error of a key whose value is none of those that are allowed."""
    expected = " or ".join(f"'{name}'" for name in allowed)
    return InitErrorDetails(
        type="literal_error", loc=(key,), input=value, ctx={"expected": expected}
    )


class Hyperparameters(Section):
    """How a model is trained; the defaults are those of UnQover's SQuAD models (transformers'
    run_squad).
    """

    # YAML takes 3e-5, which has no dot, for text.
    model_config = ConfigDict(strict=False)

    epochs: float = Field(2, gt=0, allow_inf_nan=False, description="passes over the data")
    learning_rate: float = Field(
        3e-5,
        gt=0,
        allow_inf_nan=False,
        description="initial learning rate; it falls linearly to zero",
    )
    batch_size: int = Field(20, gt=0, description="sequences per step")
    max_length: int = Field(
        384, gt=0, description="maximum tokens per sequence; longer contexts are cut into windows"
    )
    stride: int = Field(
        128,
        ge=0,
        description="number of tokens that neighbouring windows share (question answering)",
    )
    mask_probability: float = Field(
        0.15, gt=0, lt=1, description="share of tokens that are masked (fill-mask)"
    )
    seed: int = Field(
        3435, ge=0, description="seed for new weights, the order of the data and random masks"
    )


class Source(Section):
    """Where a checkpoint comes from."""

    checkpoint: str | None = Field(
        None, description="repository on the Hugging Face hub, such as `roberta-base`"
    )
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(
        None, description="local folder with a checkpoint, instead of `checkpoint`"
    )

    @model_validator(mode="after")
    def _one_source(self) -> Source:
        if (self.checkpoint is None) == (self.folder is None):
            raise KeysError("expected either `checkpoint` (with `revision`) or `folder`")
        if (self.checkpoint is None) != (self.revision is None):
            raise KeysError("expected `revision` together with `checkpoint`, never without it")
        return self


class Training(Section):
    """A model that the workflow trains itself."""

    base: Source | None = Field(None, description="the checkpoint to start from")
    data: str | None = Field(
        None,
        description=(
            "JSON in SQuAD format (question answering); one text per line, or a prompt and its "
            "possible answers, separated by tabs (text generation); one text per line, or a text "
            "with the mask token and the words that fill it, separated by tabs (fill-mask); or "
            "lines of JSON (text classification): "
            '`{"text": TEXT, "text_pair": TEXT, "label": CLASS}`, where `text_pair` is only for '
            "pairs and CLASS is one of the values of the model's `labels`, or a list of them that "
            "are equally right"
        ),
    )
    synthetic: str | None = Field(
        None,
        description=(
            "name of a strength in `synthetic.strengths`: trains a tiny model on the known effect "
            "in `dataset` or, without that key, in all datasets of the config that fit the model "
            "and have a known effect. Datasets that are not selected count too, so a new "
            "selection needs no new training"
        ),
    )
    dataset: Name | None = Field(
        None,
        description=(
            "for text classification, with `synthetic`: the dataset whose cases get group effects"
        ),
    )
    hyperparameters: Hyperparameters = Field(Hyperparameters(), description="how to train")

    @model_validator(mode="after")
    def _one_kind(self) -> Training:
        if (self.synthetic is None) == (self.base is None or self.data is None):
            raise KeysError("expected either `synthetic`, or both `base` and `data`")
        if self.dataset is not None and self.synthetic is None:
            raise KeysError("expected `dataset` only together with `synthetic`")
        return self


class Dump(Section):
    """Predictions that are there already: an `output.json` in UnQover's layout, questions and
    answers in one.
    """

    file: str | None = Field(None, description="path of the dump")
    url: Annotated[str, Field(pattern=ADDRESS_PATTERN)] | None = Field(
        None,
        description=(
            "address of the dump, instead of `file`; needs `sha256`. `${NAME}` stands for an "
            "environment variable, such as a token. Users, passwords and queries are never "
            "written to any output"
        ),
    )
    sha256: Annotated[str, Field(pattern=DIGEST)] | None = Field(
        None, description="digest of the dump, as `sha256sum` prints it; another dump is refused"
    )
    scoring: Scoring = Field(
        "unqover",
        description=(
            "how the dump was scored; `exact` if `biasgrid export` wrote it from cells "
            "with that scoring"
        ),
    )

    @model_validator(mode="after")
    def _one_source(self) -> Dump:
        if (self.file is None) == (self.url is None):
            raise KeysError("expected either `file` or `url` (with `sha256`)")
        if self.url is not None and self.sha256 is None:
            raise KeysError("expected `sha256` together with `url`")
        return self


class Charge(NamedTuple):
    """The cost of an instance, at most.

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


@dataclass(frozen=True)
class ModelSource:
    """Where the answers of a model come from; the methods here are those of a back end that needs
    nothing else.

    Attributes:
        model: the section of the model.
        name: what it is called; with its task it finds a model's back end.
        keys: the keys of a model's section of which one, and no other source's, says that its
            answers come from here.
        fields: keys that it adds to the sections of models, each with its type and field.
        named_by: the key that names it in messages, for tasks without a back end for it.
        brings_instances: whether its answers come with what was asked, in place of what a dataset
            expands to.
        runs_here: whether weights run here, so that prompts are written here.
        is_served: whether a server loads its checkpoint.
        is_control: whether its answers are those of no model at all.
        asks_server: whether a server is asked, whoever starts it.
    """

    name: ClassVar[str] = "itself"
    keys: ClassVar[tuple[str, ...]] = ()
    fields: ClassVar[Mapping[str, tuple[Any, Any]]] = {}
    named_by: ClassVar[str] = "task"
    brings_instances: ClassVar[bool] = False
    runs_here: ClassVar[bool] = False
    is_served: ClassVar[bool] = False
    is_control: ClassVar[bool] = False
    asks_server: ClassVar[bool] = False

    model: Model

    @classmethod
    def has_source_keys(cls, model: Model) -> bool:
        """Says whether a model's section has one of its keys."""
        return any(getattr(model, key) for key in (*cls.keys, *cls.fields))

    @property
    def precomputed(self) -> Literal["texts", "numbers"] | None:
        """What a file has in place of a model; None where a model answers."""
        return None

    @property
    def section(self) -> Any:
        """The value of the key of its name."""
        return getattr(self.model, self.name)

    def check(self) -> None:
        """Refuses keys of a model that do not go with it.

        Raises:
            KeysError: with what is expected.
        """

    def has_dataset(self, formats: Collection[str]) -> bool:
        """Says whether it can answer datasets of a family, given the formats of other projects that
        the family has.
        """
        return True

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide a model's answers."""
        return self.model.deciding_keys()

    def choices(self) -> dict[str, Any]:
        """Returns those of the deciding keys that are not in the record."""
        return {}

    def record_source(self, trained: str, training: Mapping[str, Any] | None) -> dict[str, Any]:
        """Returns what the record of a model is made of, as arguments of `make_record` or
        `make_keys_record`.

        Args:
            trained: the folder of a model that the workflow trains.
            training: how it is trained; None where it is not.
        """
        return {"keys": self.deciding_keys(), "files": list(self.files().values())}

    def files(self) -> dict[str, str]:
        """Returns the files whose content decides a model's answers, by key; of a checkpoint the
        record has them.
        """
        return {}

    def paths(self) -> dict[str, str | None]:
        """Returns all that jobs read, by key."""
        return {**self.files()}

    @property
    def addresses(self) -> list[str]:
        """The servers that are asked."""
        return []

    def probe(self) -> None:
        """Asks a running server whether it answers and has the model; other sources are not asked.

        Raises:
            UserError: it does not. The message says what to do.
        """

    @property
    def gpus(self) -> int:
        """The number of GPUs for a job of inference, if there are any."""
        return 1

    def mutex(self, name: str, dataset: str) -> str | None:
        """Returns the resource that only one of its jobs can use at a time, None if there is none.

        Args:
            name: its name in the config.
            dataset: the name of the dataset that a job asks; empty if it asks none.
        """
        return None

    def charge(
        self, answer: str, scored_by: str | None = None, options: Sequence[Sequence[str]] = ()
    ) -> Charge | None:
        """Returns the cost of an instance, None if it costs nothing.

        Args:
            answer: the kind of the answers.
            scored_by: the scoring method, None if it is not known yet.
            options: the options of some instances.
        """
        return None

    def origin(self, dataset: str) -> dict[str, Any] | None:
        """Returns the origin of answers that come with their instances, None for other answers."""
        return None

    def scoring(self, dataset: str) -> str | None:
        """Returns the scoring of answers that come with their instances, None for other answers."""
        return None

    def cell_faults(self, name: str, dataset: str, results: str, source: str) -> Iterator[Fault]:
        """Yields the reasons why a model cannot answer a dataset.

        Args:
            name: its name in the config.
            dataset: the name of the dataset.
            results: the folder of results.
            source: the config's file, for messages.
        """
        yield from ()

    def prompt_faults(
        self,
        prompts: Collection[str],
        asked: Collection[tuple[str, str]],
        repetitions: int,
        alone: bool,
    ) -> Iterable[Fault]:
        """Returns why a model cannot answer the prompts of a file; see `base.precomputed_file`."""
        return ()


class Model(Section):
    """A model: a row of the grid."""

    # The names of what all models of a task may come from; a back end that needs no weights has a
    # section with ().
    SOURCES: ClassVar[tuple[str, ...]] = ("weights", "dump")
    sources: ClassVar[tuple[type[ModelSource], ...]] = (ModelSource,)
    """Those of the task's models, as `config.registry` finds them."""

    task: str = Field(description="Hugging Face task that the model is used for")
    variant: Variant | None = Field(
        None,
        description=(
            "which variant of a dataset with variants the model answers: `qa`, `qa-newsqa`, "
            "`llm`, or `lm-` and a key of `tokenizers`. Without this key the model answers no "
            "such dataset"
        ),
    )
    labels: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "for text classification: the name of each class of a dataset (see its `labels`) in "
            "the checkpoint's `id2label`, such as `{negative: NEG, positive: POS}`"
        ),
    )
    kind: str = Field(
        description="kind of model, by which plots are grouped: SQuAD, NewsQA, LM, ..."
    )
    label: str = Field(
        description="name in plots; models of different kinds may share it, such as `BERT base`"
    )
    checkpoint: str | None = Field(None, description="repository on the Hugging Face hub")
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(None, description="local folder with a checkpoint")
    train: Training | None = Field(None, description="trains the model instead of fetching it")
    predictions: dict[Name, Dump] = Field(
        default_factory=dict,
        description=(
            "for each dataset, the dump to measure instead of running the model; the questions "
            "come from the dump, not from the word lists of the variant"
        ),
    )
    allow_pickle: bool = Field(
        False,
        description=(
            "whether the weights (with `train`, the weights of its base) may be "
            "pickled files (`pytorch_model.bin`)"
        ),
    )
    allow_remote_code: bool = Field(False, description=REMOTE_CODE)

    @model_validator(mode="after")
    def _one_source(self) -> Model:
        self._check_source_keys()
        if (self.checkpoint is None) != (self.revision is None):
            raise KeysError("expected `revision` together with `checkpoint`, never without it")
        if self.train and self.allow_remote_code:
            raise KeysError(
                "expected no `allow_remote_code` with `train`, which runs only the "
                "code of transformers"
            )
        for source in self.sources:
            if source.has_source_keys(self):
                source(self).check()
        return self

    def _check_source_keys(self) -> None:
        """Raises KeysError unless the section has exactly one key of a source that its task has."""
        keys = [key for source in self.sources for key in source.keys]
        all_keys = dict.fromkeys(("checkpoint", "folder", "train", "predictions", *keys))
        given = [key for key in all_keys if getattr(self, key)]
        if not keys:
            if given:
                unexpected = " or ".join(f"`{key}`" for key in given)
                raise KeysError(f"expected no {unexpected}, as the task needs no weights")
            return
        if len(given) != 1 or given[0] not in keys:
            *first, last = (f"`{key}`" for key in keys)
            raise KeysError(f"expected exactly one of {', '.join(first)} and {last}")

    @property
    def source(self) -> ModelSource:
        """The source of its answers.

        A source that needs keys beside a checkpoint is later in `sources` than the checkpoint.
        """
        for source in reversed(self.sources):
            if source.has_source_keys(self):
                return source(self)
        return self.sources[0](self)

    @property
    def back_end(self) -> str:
        """The name of its back end among those of its task: that of its source."""
        return self.source.name

    @property
    def scored(self) -> Sequence[str]:
        """The classes that its checkpoint must have, among others."""
        return ()

    @property
    def activation(self) -> str | None:
        """The activation function of a scorer's outputs, None if its checkpoint decides."""
        return None

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys of its task's back end that decide its answers, with their values."""
        of_sources = {key for source in self.sources for key in source.fields}
        return self.model_dump(mode="json", exclude={*Model.model_fields, *of_sources})


class Tokenizer(Section):
    """A family of tokenizers: of masked language models, or one that names of subjects are balanced
    by.
    """

    mask: str | None = Field(
        None, description="its mask token, such as `[MASK]`, which masked language models need"
    )
    checkpoint: str | None = Field(
        None, description="repository on the hub whose tokenizer represents the family"
    )
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(None, description="local folder with such a tokenizer")
    allow_remote_code: bool = Field(False, description=REMOTE_CODE)
