"""What others must know of a family of datasets: told by the family alone, in its folder.

A family has a light half, an object of a class made from `Family`, which is imported while the grid
is planned; and a heavy half, functions in modules of the names in `STAGES`, each imported by the
jobs that need it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import Field

from biasgrid.base.faults import Fault
from biasgrid.base.languages import own_option
from biasgrid.base.references import load_reference
from biasgrid.base.sections import LANGUAGE, Model, Name, Section, Tokenizer
from biasgrid.families.sampling import MOST_UNASKED, SampleBy, SampleOrAll
from biasgrid.stats.section import TemplateClusters
from biasgrid.tables.claims.marks import MarkSection
from biasgrid.tables.metric import Measure

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.families.cell import MeasuredCell, Observations
    from biasgrid.families.expansion import Expansion
    from biasgrid.groups.records import OutputType
    from biasgrid.stats.settings import CellNumbers, StatisticsSettings
    from biasgrid.stats.sums import Finish, Sums
    from biasgrid.tables.completeness import Check
    from biasgrid.tables.evidence import Evidence

TokenCounts = Callable[[Sequence[str]], list[int]]
"""Says of texts how many tokens each is, 0 where one of them is unknown."""
InstanceTexts = tuple[str, str, Sequence[str], str]
"""Second text, text, candidates and system text of an instance; texts that it lacks are ""."""

STAGES = {
    "reading": ("read",),
    "keys": ("KEYS",),
    "expand": ("expand",),
    "observe": ("observe",),
    "measures": ("measure",),
}
"""The names that each stage of a family must have; see `references.stage_module`."""
SYNTHETIC_STAGE = {"synthetic": ("known_effects", "corpus")}
"""The same of families whose bias can be put in."""


class DatasetSection(Section):
    """What the config may say of any dataset; each family adds keys of its own."""

    family: str = Field(description="what is asked, and how it is measured")
    title: str = Field(description="name of the dataset in plots and the report")
    language: str = Field(
        "en",
        pattern=LANGUAGE,
        description=(
            "language of the texts, such as `es` or `pt-BR`. What biasgrid has only for English is "
            "left out or refused in other languages (see docs/languages.md)"
        ),
    )
    language_file: str | None = Field(
        None,
        description=(
            "YAML file among the word lists with your own words of the "
            "language (see docs/languages.md)"
        ),
    )
    shards: int = Field(
        1, ge=1, le=256, description="number of jobs that share the inference of a cell"
    )
    sample: SampleOrAll | None = Field(
        None,
        description=(
            "asks only a random sample. Default: everything; if generative models are asked more "
            f"than {MOST_UNASKED:,} instances, write `all` to confirm that"
        ),
    )
    sample_by: SampleBy = Field(
        "blocks",
        description=(
            "how a sample is taken: `blocks` takes fewer subjects, attributes and fillings, with "
            "all templates of each; `rows` takes some of everything, so that each number has fewer "
            "templates (see docs/datasets.md)"
        ),
    )
    template_clusters: TemplateClusters = Field(
        "auto",
        description=(
            "which templates reword each other and so count as one piece of evidence: `auto` "
            "(templates that differ only in the gender of their words), `none`, or lists of "
            "template numbers from 0, such as `[[0, 1], [2, 3]]`"
        ),
    )
    sensitive: bool = Field(
        True,
        description="whether the report hides attributes and sentences until the reader opens them",
    )
    control_of: Name | None = Field(
        None, description="name of the dataset of which this is a control (see docs/controls.md)"
    )
    figures: list[Name] = Field(
        default_factory=list, description="names of figures from plugins to draw in addition"
    )

    @property
    def is_english(self) -> bool:
        """Whether its texts are English."""
        return self.language.partition("-")[0] == "en"

    def language_reference(self, word_lists: str | Path) -> str:
        """Returns the file or the language that `language_words` takes."""
        return str(Path(word_lists, self.language_file)) if self.language_file else self.language

    def language_option(self, word_lists: str | Path) -> dict[str, str]:
        """Returns the options of a cell that name its language; none for English.

        Without them, the options of English cells are as they were before there were languages.
        """
        reference = self.language_reference(word_lists)
        if self.language_file:
            return own_option(reference)
        return {} if self.is_english else {"language": reference}


class Mode:
    """The way in which a family reads and measures: its own, or another project's in a subclass.

    Attributes:
        replications: the subclasses, as `reference:name`, by the key `mode` of datasets; see
            `Family.modes`.
    """

    replications: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def of(cls, name: str | None) -> Self:
        """Returns the mode of a dataset, whose code only those import that name it."""
        mode: type[Self] = load_reference(cls.replications[name]) if name else cls
        return mode()


@dataclass(frozen=True)
class Question:
    """What one model is asked of one dataset.

    Attributes:
        variant: which of the dataset's instances tables it answers.
        answer: the kind of its answers, a module of `tables.answers`.
        settings: what decides its answers beside checkpoint and precision, as its back end's
            `Choices`.
        measure_options: the options that decide the measures of the cell.
        tokenizer: the tokenizer of the config that the expansion needs.
        row_bytes: about how many bytes a row of the predictions takes.
        scorers: by each model that reads the texts which this one writes, selected or not, the kind
            of its answers.
    """

    variant: str
    answer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    measure_options: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: str | None = None
    row_bytes: float = 10
    scorers: Mapping[str, str] = field(default_factory=dict)


class Selection(Protocol):
    """What is run."""

    @property
    def models(self) -> Sequence[str]:
        """Names of models."""

    @property
    def datasets(self) -> Sequence[str]:
        """Names of datasets."""


class Arithmetic(Protocol):
    """How models are run."""

    @property
    def precision(self) -> str:
        """The arithmetic, such as `float32`."""


class Grid(Protocol):
    """What a family may know of a config."""

    @property
    def scoring(self) -> str:
        """How answers are scored, `exact` or `unqover`."""

    @property
    def inference(self) -> Arithmetic:
        """How models are run."""

    @property
    def results(self) -> str:
        """The folder of results."""

    @property
    def word_lists(self) -> str:
        """The folder of word lists."""

    @property
    def models(self) -> Mapping[str, Model]:
        """The registry of models."""

    @property
    def datasets(self) -> Mapping[str, DatasetSection]:
        """The registry of datasets."""

    @property
    def tokenizers(self) -> Mapping[str, Tokenizer]:
        """The registry of tokenizers."""

    @property
    def run(self) -> Selection:
        """What is run."""

    def fits(self, model: str, dataset: str) -> bool:
        """Whether a dataset is for a model."""

    def training_datasets(self, model: str) -> Sequence[str]:
        """Returns the datasets whose synthetic bias a model learns."""


class PlannedInstances(Protocol):
    """What a dataset's variant asks, known without expanding it.

    It may have a `refusal`: what keeps it from being asked, once a tokenizer is known, and what was
    expected.
    """

    @property
    def instances(self) -> int:
        """How many instances there are."""

    def sample(self, count: int) -> Sequence[InstanceTexts]:
        """Returns the texts of about `count` instances that are spread over all."""

    def parts(self, part_count: int, part_size: int) -> Sequence[Sequence[InstanceTexts]]:
        """Returns the texts of parts of the instances that are spread over all.

        Args:
            part_count: the largest number of parts.
            part_size: the number of instances in a part, which follow each other. All instances are
                one part if there are fewer.
        """


class Lists(Protocol):
    """What a variant's files hold."""

    def digest(self) -> str:
        """Returns a digest of all that decides the instances."""


class Family(ABC):
    """What others must know of a family.

    Attributes:
        name: the key `family` of its datasets.
        place: where it stands among built-in families in documents; datasets that name no family
            are of the first.
        Section: the keys of its datasets.
        yields_sums: whether `measure` yields `Sums`; else its measures are computed again without
            each cluster.
        is_synthetic: whether its bias can be put in: it has a module `synthetic`.
        grid_figures: figures that compare the cells of all datasets, by their names.
        group_number: the measure that says how a model treats a group of its datasets, by which
            families are compared; empty where none does.
        unit: what the `n` of its numbers counts, in words.
        asks: what models are asked, in a few words.
        instance_bytes: about how many bytes a row of its instances takes.
        formats: file formats of other projects whose dumps bring instances of its datasets.
        modes: replications of other projects' numbers, as `reference:name`, by the key `mode` of
            its datasets or `scoring` of the config. Its stages import them where one is named, so
            that they are part of its code.
        output_types: for each task whose answers are compared by groups the outputs of the records,
            for documents.
        own_measures: the measures of all its datasets, for documents.
        flags: the validity flags of all its datasets, for documents.
        expected: what a model must be for its datasets, for messages.
        file_sign: a pattern of the beginning of its files, by which a file is recognised that was
            given to another family; empty without any.
    """

    name: ClassVar[str]
    place: ClassVar[int] = 0
    Section: ClassVar[type[DatasetSection]]
    yields_sums: ClassVar[bool] = False
    is_synthetic: ClassVar[bool] = False
    grid_figures: ClassVar[Sequence[str]] = ()
    group_number: ClassVar[str] = ""
    unit: ClassVar[str] = "comparisons"
    asks: ClassVar[str] = ""
    instance_bytes: ClassVar[float] = 5
    formats: ClassVar[Collection[str]] = ()
    modes: ClassVar[Mapping[str, str]] = {}
    output_types: ClassVar[Mapping[str, OutputType]] = {}
    own_measures: ClassVar[Mapping[str, Measure]] = {}
    flags: ClassVar[Mapping[str, Measure]] = {}
    expected: ClassVar[str] = "a model that fits its datasets"
    file_sign: ClassVar[str] = ""

    @abstractmethod
    def question(self, grid: Grid, dataset: str, model: str) -> Question | None:
        """Returns the question that a dataset asks a model; None if it is not for the model."""

    def english(self, grid: Grid, dataset: str) -> Iterator[tuple[str, str]]:
        """Yields the English parts of a dataset in any language, and alternatives to them."""
        yield from ()

    def unfit(self, grid: Grid, dataset: str, model: str) -> str:
        """Returns the reason that a dataset is not for a model, if it says more than `expected`."""
        return ""

    @abstractmethod
    def files(self, grid: Grid, dataset: str, variant: str) -> Any:
        """Returns the argument of `read` for a dataset's variant.

        It is picklable, and equal if the files are the same.
        """

    @abstractmethod
    def measures(self, grid: Grid, dataset: str) -> Mapping[str, Measure]:
        """Declares the measures of a dataset by name, in the order in which they are told.

        Those that stand in the dataset's files are left out where the files cannot be read, which
        `read` tells.
        """

    def about(self, grid: Grid, dataset: str) -> Sequence[str]:
        """Returns paragraphs on the questions and comparisons of a dataset."""
        return ()

    def cluster_texts(self, lists: Any) -> Sequence[str]:
        """Returns the text of each template; texts that differ only in gender are one cluster."""
        return ()

    def template_texts(self, lists: Any) -> Sequence[str]:
        """Returns the label of each template in figures; see `cluster_texts`."""
        return self.cluster_texts(lists)

    def templates_asked(self, lists: Any) -> int:
        """Returns how many of the templates are asked, the first ones; see `cluster_texts`."""
        return len(self.cluster_texts(lists))

    def sampled(self, lists: Any, clusters: Callable[[], Sequence[int]]) -> str | None:
        """Returns a text on the tests that a sample allows.

        None without a sample, and if the sample is the whole.

        Args:
            lists: the lists.
            clusters: returns the cluster of each template, by number.
        """
        return None

    def section(self, grid: Grid, dataset: str) -> MarkSection | None:
        """Returns the section of datasets whose marks are judged together; None without one."""
        return None

    def figures(self, dataset: Any) -> Sequence[str]:
        """Names the figures of a dataset, in the report's order."""
        return ()

    def faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields faults of the config: datasets of this family, and questions to models.

        Args:
            grid: the config.
            source: its file, for messages.
        """
        yield from ()

    def measure_faults(self, grid: Grid, source: str) -> Iterator[Fault]:
        """Yields measures that cannot be computed; called if the config has no other fault."""
        yield from ()

    def list_faults(
        self, grid: Grid, source: str, dataset: str, variant: str, lists: Any
    ) -> Iterator[Fault]:
        """Yields faults of valid lists that do not fit the dataset's section."""
        yield from ()

    def list_warnings(self, lists: Any) -> Iterator[str]:
        """Yields what is unusual in valid lists and may change what is found."""
        yield from ()

    def item_of_sample(self, fields: Mapping[str, Any]) -> str | None:
        """Returns the `item_id` of a sample in the log of another harness; None for other items.

        Samples of other families are found by what the model read.

        Args:
            fields: what the log says of the item, such as the fields of the benchmark that the
                harness has asked.
        """
        return None

    def teaches(self, grid: Grid, dataset: str, model: str) -> bool:
        """Whether a model that learns the synthetic bias of all its datasets learns this one's."""
        train = grid.models[model].train
        return (
            self.is_synthetic
            and train is not None
            and not train.dataset
            and grid.fits(model, dataset)
        )

    def synthetic_options(self, grid: Grid, dataset: str) -> Mapping[str, Any]:
        """Returns the options that decide the known effect in a dataset, beside its instances."""
        return {}


OwnSection = TypeVar("OwnSection", bound=DatasetSection)


def section_of(kind: type[OwnSection], grid: Grid, dataset: str) -> OwnSection:
    """Returns the section of a dataset, which is of the kind that its family has."""
    section = grid.datasets[dataset]
    assert isinstance(section, kind)
    return section


class Stages(Protocol):
    """The functions of a family's heavy half.

    It may leave out `planned_instances` (then lists are expanded), `validity` and `evidence`.

    Attributes:
        KEYS: the family's own columns of instances.
        READ: the columns of instances that `observe` needs; without it all are read.
        SAID: those of predictions, of any answer kind; likewise.
        UNIT: of families whose cells may be larger than memory, beside both: the column that says
            which instances are observed together. They are observed part by part.
    """

    KEYS: Mapping[str, Any]

    def read(self, files: Any) -> tuple[Lists, list[Fault]]:
        """Reads a variant's files and returns them with every fault that is in them."""

    def planned_instances(
        self, lists: Any, token_counts: TokenCounts | None = None
    ) -> PlannedInstances:
        """Returns the instances that lists ask; a tokenizer may decide which subjects are kept."""

    def expand(self, lists: Any, token_counts: TokenCounts | None = None) -> Expansion:
        """Turns lists into instances.

        Only families whose questions name a tokenizer are given `token_counts`.
        """

    def observe(
        self,
        instances: pl.DataFrame,
        predictions: pl.DataFrame,
        measure_options: Mapping[str, Any],
        scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
    ) -> pl.DataFrame:
        """Observes the answers to instances; predictions stand in any order.

        Only families whose questions name scorers are given `scorer_predictions`: for each of these
        models what it said of each distinct `text` among the responses, in the columns of its
        answer kind.
        """

    def measure(
        self, observations: Observations, measure_options: Mapping[str, Any]
    ) -> Iterator[Sums | pl.DataFrame] | pl.DataFrame:
        """Measures a cell: yields sums, or returns a table.

        Observations of families with a `UNIT` come in parts, as often as they are needed.

        One that yields gives sums over templates, names, items or prompts, from which the core
        makes values, intervals and tests; numbers that are not made of sums come as tables, in
        columns of `MEASURES`. One that returns a table is asked again without each cluster of
        templates, if observations have a column `template`.
        """

    def derive(
        self,
        estimates: pl.DataFrame,
        sums: Sequence[Sums],
        measure_options: Mapping[str, Any],
        settings: StatisticsSettings,
    ) -> CellNumbers:
        """Adds numbers made of several sums, and the design: where the variance of the cell is."""

    def finishes(self, measure_options: Mapping[str, Any]) -> Mapping[str, Finish]:
        """Returns the functions of sums beside `stats.sums.SHARED_FINISHES`, by name."""

    def validity(self, cell: MeasuredCell) -> Iterable[Check]:
        """Yields checks of whether a cell can be measured: values of measures with a `limit`."""

    def evidence(self, cell: MeasuredCell) -> Evidence:
        """Finds the sentences behind measures: the strongest, a typical and the most contrary."""
