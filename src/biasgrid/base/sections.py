"""Sections of a config that many rooms share: their base class, models, training and tokenizers."""

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
REPOSITORY = r"^[^:]*$"
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
    REPOSITORY: "the name of a repository on the hub, such as `org/name`, not its address",
    VARIABLE_NAME: (
        "the name of the environment variable that holds it, such as `${OPENAI_API_KEY}`"
    ),
    LANGUAGE: "a language code, such as `en`, `es` or `pt-BR`",
    DIGEST: "64 hexadecimal digits, as `sha256sum` prints them",
}
"""A description of the texts that match each pattern, for messages."""
SECRET_PATTERNS = {VARIABLE_NAME}
"""Patterns of values that no message shows: if they do not match, they may be secrets."""
REVISION = (
    "commit, tag or branch of the repository. A tag or branch is resolved once, when the files are "
    "fetched; the record names the commit, and all later stages use it"
)
REMOTE_CODE = (
    "whether code that comes with the checkpoint may run (`trust_remote_code`); read "
    "that code first"
)

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Repository = Annotated[str, Field(pattern=REPOSITORY)]
Variant = Annotated[str, Field(pattern=VARIANT)]
Scoring = Literal["exact", "unqover"]
TargetScoring = Literal["joint", "pll", "pll-l2r"]


class KeysError(ValueError):
    """Keys of a section that conflict. The message describes the keys that are expected."""


class Section(BaseModel):
    """A part of a file that refuses unknown keys and values of other types, and is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _replace_unknown(cls, content: Any) -> Any:
        """Replaces the value of each unknown key by the list of known keys.

        Pydantic's error of an unknown key has only its value, and the message should suggest the
        nearest known key.
        """
        keys = list(cls.model_fields)
        if not isinstance(content, dict):
            raise ValueError(f"expected a section of keys such as {', '.join(keys)}")
        entries = {}
        for key, value in content.items():
            # YAML also reads numbers and dates as keys.
            name = key if isinstance(key, str) else value_text(key)
            entries[name] = value if name in keys else keys
        return entries


Kind = TypeVar("Kind", bound=Section)


def named_section(key: str, kinds: Mapping[str, type[Kind]], value: Any) -> Kind:
    """Validates a section whose class depends on the value of one of its keys.

    Args:
        key: the key.
        kinds: the class of the section for each value of the key.
        value: the section as it was parsed.

    Raises:
        ValidationError: the key has no such value, or the section has faults.
        ValueError: the value is not a mapping.
    """
    if not isinstance(value, dict):
        raise ValueError(
            f"expected one of {', '.join(sorted(kinds))}, or keys with one of them in `{key}`"
        )
    name = value.get(key)
    if not isinstance(name, str) or name not in kinds:
        raise ValidationError.from_exception_data("Section", [not_one_of(key, name, list(kinds))])
    return kinds[name].model_validate(value)


def not_one_of(key: str, value: Any, valid_names: Sequence[str]) -> InitErrorDetails:
    """Returns pydantic's error of a key whose value is not one of the valid names."""
    # In the form of pydantic's own error, which `messages.allowed_names` takes apart.
    expected = " or ".join(f"'{name}'" for name in valid_names)
    return InitErrorDetails(
        type="literal_error", loc=(key,), input=value, ctx={"expected": expected}
    )


class Hyperparameters(Section):
    """How a model is trained. UnQover trained its SQuAD models with these defaults (run_squad of
    transformers).
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
    """The origin of a checkpoint: the hub or a folder."""

    checkpoint: Repository | None = Field(
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
    """Precomputed predictions: an `output.json` in UnQover's layout, with questions and answers."""

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
    """The maximum cost of an instance.

    Attributes:
        requests: the number of requests. Each contains the whole prompt.
        tokens_out: the number of output tokens.
        input: the price of a million input tokens, None if it is not known.
        output: the price of a million output tokens, None if it is not known.
        is_known: whether `requests` is the exact number, not only an upper bound.
    """

    requests: float
    tokens_out: float
    input: float | None
    output: float | None
    is_known: bool = True

    def cost(self, tokens_in: float | None, tokens_out: float | None) -> float | None:
        """Returns the cost of input and output tokens, None if a price or a number is not known."""
        if self.input is None or self.output is None or tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


@dataclass(frozen=True)
class ModelSource:
    """The source of a model's answers, such as weights, a server or a file.

    The methods of this class suit a back end that needs nothing but the model's section.

    Attributes:
        model: the section of the model.
        name: the name of the source. Task and source determine a model's back end.
        keys: keys of a model's section that select this source: the section has exactly one key of
            all sources.
        fields: keys that the source adds to the sections of models, each with its type and field.
        named_by: the key that messages name if the task has no back end for this source.
        brings_instances: whether the answers come with their own instances, so that the dataset is
            not expanded.
        runs_here: whether weights run here, so that prompts are written here.
        is_served: whether a server loads the checkpoint.
        is_control: whether the answers are made without any model.
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
        """Whether a model's section has a key of this source."""
        return any(getattr(model, key) for key in (*cls.keys, *cls.fields))

    @property
    def precomputed(self) -> Literal["texts", "numbers"] | None:
        """The kind of answers in the file that replaces a model, None if a model answers."""
        return None

    @property
    def section(self) -> Any:
        """The value of the section's key that has the name of the source."""
        return getattr(self.model, self.name)

    def check(self) -> None:
        """Refuses keys of a model that conflict with this source.

        Raises:
            KeysError: with the keys that are expected.
        """

    def has_dataset(self, formats: Collection[str]) -> bool:
        """Whether the source can answer datasets of a family.

        Args:
            formats: the formats of other projects that the family reads.
        """
        return True

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide a model's answers."""
        return self.model.deciding_keys()

    def choices(self) -> dict[str, Any]:
        """Returns the keys that decide a model's answers but are not in its record."""
        return {}

    def record_source(
        self, training_folder: str, training: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Returns the arguments of `make_record` or `make_keys_record`, which record a model.

        Args:
            training_folder: the folder to which the workflow writes the model if it trains it.
            training: the settings of training, None if the workflow does not train the model.
        """
        return {"keys": self.deciding_keys(), "files": list(self.files().values())}

    def files(self) -> dict[str, str]:
        """Returns the files whose content decides a model's answers, by key.

        Files of a checkpoint are not among them: its record has their digests.
        """
        return {}

    def paths(self) -> dict[str, str | None]:
        """Returns the files and folders that jobs read, by key; None for keys that are not set."""
        return {**self.files()}

    @property
    def addresses(self) -> list[str]:
        """The addresses of servers that are asked."""
        return []

    def probe(self) -> None:
        """Checks that a running server answers and has the model; does nothing for other sources.

        Raises:
            UserError: the server does not answer or lacks the model, with advice.
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
        self, answer: str, scored_by: str | None = None, option_lists: Sequence[Sequence[str]] = ()
    ) -> Charge | None:
        """Returns the maximum cost of an instance, None if it costs nothing.

        Args:
            answer: the kind of the answers.
            scored_by: the scoring method, None if it is not known yet.
            option_lists: the answer options of a sample of instances, one list for each.
        """
        return None

    def origin(self, dataset: str) -> dict[str, Any] | None:
        """Returns the provenance of a dataset's answers, None unless `brings_instances`."""
        return None

    def scoring(self, dataset: str) -> str | None:
        """Returns how a dataset's answers were scored, None unless `brings_instances`."""
        return None

    def cell_faults(self, name: str, dataset: str, results: str, source: str) -> Iterator[Fault]:
        """Yields a fault for each reason why a model cannot answer a dataset.

        Args:
            name: the name of the model in the config.
            dataset: the name of the dataset.
            results: the folder of results.
            source: the config's file, for messages.
        """
        yield from ()

    def prompt_faults(
        self,
        prompts: Collection[str],
        prompt_groups: Collection[tuple[str, str]],
        repetitions: int,
        *,
        is_for_one_dataset: bool,
    ) -> Iterable[Fault]:
        """Returns why a file of answers does not answer a dataset; empty for other sources.

        See `base.precomputed_file.precomputed_faults`.
        """
        return ()


class Model(Section):
    """A model: a row of the grid."""

    # Names of the sources that all models of a task may have; () for a task without weights.
    SOURCES: ClassVar[tuple[str, ...]] = ("weights", "dump")
    sources: ClassVar[tuple[type[ModelSource], ...]] = (ModelSource,)
    """The classes of all sources of the task; `config.registry` sets them."""

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
    checkpoint: Repository | None = Field(None, description="repository on the Hugging Face hub")
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
        keys_here = [key for key in all_keys if getattr(self, key)]
        if not keys:
            if keys_here:
                surplus = " or ".join(f"`{key}`" for key in keys_here)
                raise KeysError(f"expected no {surplus}, as the task needs no weights")
            return
        if len(keys_here) != 1 or keys_here[0] not in keys:
            *listed, last = (f"`{key}`" for key in keys)
            raise KeysError(f"expected exactly one of {', '.join(listed)} and {last}")

    @property
    def source(self) -> ModelSource:
        """The source of the model's answers.

        `sources` lists a source that needs other keys besides a checkpoint, such as a server's,
        after the source of checkpoints. So the last that has a key is taken.
        """
        for source in reversed(self.sources):
            if source.has_source_keys(self):
                return source(self)
        return self.sources[0](self)

    @property
    def back_end(self) -> str:
        """The name of the model's source, which selects among the back ends of its task."""
        return self.source.name

    @property
    def scored(self) -> Sequence[str]:
        """Classes that its checkpoint must have; it may have others, too."""
        return ()

    @property
    def activation(self) -> str | None:
        """The activation function of a scorer's outputs, None if its checkpoint decides."""
        return None

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that its task's back end adds to the section, with their values.

        They decide the model's answers. Keys of sources are not among them.
        """
        source_keys = {key for source in self.sources for key in source.fields}
        return self.model_dump(mode="json", exclude={*Model.model_fields, *source_keys})


class Tokenizer(Section):
    """A family of tokenizers, for masked language models or to balance the names of subjects."""

    mask: str | None = Field(
        None,
        description=(
            "its mask token, such as `[MASK]`. Masked language models need it; a tokenizer without "
            "it only balances names"
        ),
    )
    checkpoint: Repository | None = Field(
        None, description="repository on the hub whose tokenizer represents the family"
    )
    revision: str | None = Field(None, description=REVISION)
    folder: str | None = Field(None, description="local folder with such a tokenizer")
    allow_remote_code: bool = Field(False, description=REMOTE_CODE)
