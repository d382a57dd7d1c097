"""The back ends by the task that they serve: found by name, so that another one changes nothing of
these.
"""

from __future__ import annotations

from typing import NamedTuple


class RegistryEntry(NamedTuple):
    """Where a back end is, and what must be known of it before it is imported.

    Attributes:
        path: `reference:class` of a `BackEnd`; of the source `dump` of a function as
            `unqover.dumps.import_dump`. In a plugin the reference may be left out: it is the
            plugin's own file.
        answers: the kinds of answers that it gives, modules of `tables.answers`.
        section: `reference:class` of what the config may say of its models, a kind of
            `base.sections.Model`; empty where they have no keys of their own.
        classes: whether it gives the probabilities of classes, which a model names in `labels`.
        look: `reference:function` that finds out, before a model is asked to choose, how it can be:
            called with its record, its section of the config and the log of the job, it gives what
            `InferenceSettings.capabilities` is; empty where there is nothing to find out.
        check: `reference:function` that says, when a config is validated, what a model cannot
            answer: called with its section, the instances of a dataset and the kind of its answers,
            it gives `Fault`s; of the source `dump` a function as `unqover.dumps.read_dump`; empty
            where nothing is known before.
        source: `reference:class` of the `base.sections.ModelSource` that its models come from;
            empty where that is one of `SOURCES`, which models of any task may have.
        joined: whether it reads text and second text as one, and the probabilities of words at a
            mask in it.
        other_paths: kinds of answers that another class gives, each with its path; `path` gives all
            others.
    """

    path: str
    answers: tuple[str, ...]
    section: str = ""
    classes: bool = False
    joined: bool = False
    source: str = ""
    look: str = ""
    check: str = ""
    other_paths: tuple[tuple[str, str], ...] = ()

    def path_of(self, answer: str) -> str:
        """Returns the path of what gives a kind of answers."""
        return dict(self.other_paths).get(answer, self.path)

    def relative_to(self, reference: str) -> RegistryEntry:
        """Returns the entry with the reference of a plugin in all paths that leave it out."""

        def resolve(path: str) -> str:
            return f"{reference}{path}" if path.startswith(":") else path

        return self._replace(
            path=resolve(self.path),
            section=resolve(self.section),
            look=resolve(self.look),
            check=resolve(self.check),
            source=resolve(self.source),
            other_paths=tuple((kind, resolve(path)) for kind, path in self.other_paths),
        )


MODELS_PACKAGE = __name__.rpartition(".")[0]
OF_SENTENCES = f"{MODELS_PACKAGE}.likelihood"
"""Where back ends are that score whole sentences."""
IMPORT_DUMP, READ_DUMP = (
    "biasgrid.formats.unqover.reading:import_dump",
    "biasgrid.formats.unqover.reading:read_dump",
)
CLASSIFIER = f"{MODELS_PACKAGE}.scorers.section:Classifier"
GENERATIVE_SECTION = f"{MODELS_PACKAGE}.generation.section:GenerativeModel"
SOURCES = {
    "weights": f"{MODELS_PACKAGE}.sources.weights:Weights",
    "dump": f"{MODELS_PACKAGE}.sources.dump:Dumps",
}
"""What models of any task may come from, by the names in `SOURCES` of their sections."""
SERVER = RegistryEntry(
    f"{MODELS_PACKAGE}.servers.back_end:Server",
    ("choice", "text", "likelihood"),
    section=GENERATIVE_SECTION,
    look=f"{MODELS_PACKAGE}.servers.capabilities:find_capabilities",
    other_paths=(("likelihood", f"{OF_SENTENCES}.server:ServerLikelihood"),),
)
ANSWERS = RegistryEntry(
    f"{MODELS_PACKAGE}.precomputed:PrecomputedAnswers",
    (),
    check=f"{MODELS_PACKAGE}.precomputed:precomputed_answer_faults",
    source=f"{MODELS_PACKAGE}.sources.precomputed:PrecomputedSource",
)
"""Answers computed elsewhere, in a file."""
BACK_ENDS = {
    ("fill-mask", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.masked.back_end:FillMask",
        ("choice", "likelihood"),
        joined=True,
        other_paths=(("likelihood", f"{OF_SENTENCES}.masked:MaskedLikelihood"),),
    ),
    ("fill-mask", "dump"): RegistryEntry(IMPORT_DUMP, ("choice",), joined=True, check=READ_DUMP),
    ("question-answering", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.extractive.back_end:QuestionAnswering",
        ("span",),
        section=f"{MODELS_PACKAGE}.extractive.section:ExtractiveModel",
    ),
    ("question-answering", "dump"): RegistryEntry(IMPORT_DUMP, ("span",), check=READ_DUMP),
    ("multiple-choice", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.multiple_choice:MultipleChoice", ("choice",)
    ),
    ("text-classification", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.text_classification:TextClassification",
        ("choice",),
        section=CLASSIFIER,
        classes=True,
    ),
    ("text-classification", "scorer"): RegistryEntry(
        f"{MODELS_PACKAGE}.scorers.text_scores:TextScores",
        ("score",),
        section=CLASSIFIER,
    ),
    ("feature-extraction", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.scorers.text_vectors:TextVectors",
        ("vector",),
        section=f"{MODELS_PACKAGE}.scorers.section:Encoder",
    ),
    ("text-generation", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.generation.back_end:TextGeneration",
        ("choice", "text", "likelihood"),
        section=GENERATIVE_SECTION,
        other_paths=(("likelihood", f"{OF_SENTENCES}.causal:CausalLikelihood"),),
    ),
    ("text-generation", "endpoint"): SERVER._replace(
        source=f"{MODELS_PACKAGE}.sources.endpoint:EndpointSource"
    ),
    ("text-generation", "serve"): SERVER._replace(
        source=f"{MODELS_PACKAGE}.sources.serve:ServeSource"
    ),
    ("text-generation", "random"): RegistryEntry(
        f"{MODELS_PACKAGE}.random_answers:RandomAnswers",
        ("choice", "text", "likelihood"),
        section=GENERATIVE_SECTION,
        source=f"{MODELS_PACKAGE}.sources.random:RandomSource",
    ),
    ("fill-mask", "answers"): ANSWERS._replace(answers=("choice", "likelihood"), joined=True),
    ("question-answering", "answers"): ANSWERS._replace(answers=("span",)),
    ("multiple-choice", "answers"): ANSWERS._replace(answers=("choice",)),
    ("text-classification", "answers"): ANSWERS._replace(answers=("choice",), classes=True),
    ("text-classification", "scorer-answers"): ANSWERS._replace(answers=("score",)),
    ("feature-extraction", "answers"): ANSWERS._replace(answers=("vector",)),
    ("text-generation", "answers"): ANSWERS._replace(answers=("choice", "text", "likelihood")),
}
"""By task and source: `weights` of a checkpoint, a `dump` of predictions, `itself`, which needs
neither, or the name of another source; or what else a section of models names as its `back_end`.
"""


def modules_of_entry(entry: RegistryEntry, answer: str) -> list[str]:
    """Returns the references of the modules that answer, as `code_digest` takes them."""
    return [entry.path_of(answer).rsplit(":", 1)[0], f"biasgrid.tables.answers.{answer}"]
