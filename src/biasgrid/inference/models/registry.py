"""The built-in back ends, by task and source.

Entries hold references and not classes, so that reading a config imports no back end. A back end of
your own is a plugin: one file with the class and a `BACK_ENDS` like the one below.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MODELS_PACKAGE = __name__.rpartition(".")[0]
ESTIMATES = f"{MODELS_PACKAGE}.estimates"
"""The package that estimates what back ends read."""
TEXT_INPUTS = f"{ESTIMATES}.texts:count_text_inputs"
MASK_INPUTS = f"{ESTIMATES}.masks:count_mask_inputs"
SENTENCE_INPUTS = f"{ESTIMATES}.texts:count_sentence_inputs"
"""Estimates what is read for answers of the kind `likelihood`, whatever the back end."""


class RegistryEntry(NamedTuple):
    """A back end, and the facts about it that are needed before it is imported.

    A reference is a module or a file, with a name behind a colon. In a plugin `:Name` is enough: it
    means the plugin's own file.

    Attributes:
        path: the reference of a `BackEnd`; for the source `dump` the reference of a function like
            `formats.unqover.reading.import_dump`.
        answers: the kinds of answers that it gives, modules of `tables.answers`.
        section: the reference of the keys that its models have in the config, a subclass of
            `base.sections.Model`; "" if they have no keys of their own.
        classes: whether it gives the probabilities of classes, which a model names in `labels`.
        probe: the reference of a `prerequisites.CapabilityProbe`, which finds out
            `InferenceSettings.capabilities` once for a model; "" if there is nothing to find out.
        probed: the kinds of answers that need the capabilities.
        check: the reference of a function that returns a `Fault` for each thing that a model
            cannot answer. It is called with section, instances and kind of answers when a config
            is validated; for the source `dump` a function like
            `formats.unqover.reading.read_dump`; "" if nothing can be checked.
        source: the reference of the `base.sections.ModelSource` of its models; "" if it is one of
            `SOURCES`, which models of any task may have.
        inputs: the reference of a function that estimates what it reads, an
            `estimates.texts.Estimator`; by default it reads each instance as one text or one pair
            of texts. None if it reads nothing.
        other_paths: pairs of a kind of answers and the reference of the class that gives it, for
            kinds that `path` does not give.
    """

    path: str
    answers: tuple[str, ...]
    section: str = ""
    classes: bool = False
    inputs: str | None = TEXT_INPUTS
    source: str = ""
    probe: str = ""
    probed: tuple[str, ...] = ()
    check: str = ""
    other_paths: tuple[tuple[str, str], ...] = ()

    def class_path(self, answer: str) -> str:
        """Returns the reference of the class that gives a kind of answers."""
        return dict(self.other_paths).get(answer, self.path)

    def with_reference(self, reference: str) -> RegistryEntry:
        """Returns the entry with a plugin's reference before each `:Name`."""

        def resolve(path: str) -> str:
            return f"{reference}{path}" if path.startswith(":") else path

        # All fields that are texts are references.
        references: dict[str, Any] = {
            name: resolve(value) for name, value in self._asdict().items() if isinstance(value, str)
        }
        other_paths = tuple((kind, resolve(path)) for kind, path in self.other_paths)
        return self._replace(**references, other_paths=other_paths)


SENTENCE_SCORERS = f"{MODELS_PACKAGE}.likelihood"
"""The package of back ends that score whole sentences."""
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
"""Sources of models of any task, by the names that a section has in `Model.SOURCES`."""
SERVER = RegistryEntry(
    f"{MODELS_PACKAGE}.servers.back_end:Server",
    ("choice", "text", "likelihood"),
    section=GENERATIVE_SECTION,
    probe=f"{MODELS_PACKAGE}.servers.capabilities:PROBE",
    # A server that writes texts is asked as it is.
    probed=("choice", "likelihood"),
    other_paths=(("likelihood", f"{SENTENCE_SCORERS}.server:ServerLikelihood"),),
)
ANSWERS = RegistryEntry(
    f"{MODELS_PACKAGE}.precomputed:PrecomputedAnswers",
    (),
    inputs=None,
    check=f"{MODELS_PACKAGE}.precomputed:precomputed_answer_faults",
    source=f"{MODELS_PACKAGE}.sources.precomputed:PrecomputedSource",
)
"""A file of answers that were computed elsewhere; entries below add the kinds of a task."""
BACK_ENDS = {
    ("fill-mask", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.masked.back_end:FillMask",
        ("choice", "likelihood"),
        inputs=MASK_INPUTS,
        other_paths=(("likelihood", f"{SENTENCE_SCORERS}.masked:MaskedLikelihood"),),
    ),
    ("fill-mask", "dump"): RegistryEntry(IMPORT_DUMP, ("choice",), inputs=None, check=READ_DUMP),
    ("question-answering", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.extractive.back_end:QuestionAnswering",
        ("span",),
        section=f"{MODELS_PACKAGE}.extractive.section:ExtractiveModel",
    ),
    ("question-answering", "dump"): RegistryEntry(
        IMPORT_DUMP, ("span",), inputs=None, check=READ_DUMP
    ),
    ("multiple-choice", "weights"): RegistryEntry(
        f"{MODELS_PACKAGE}.multiple_choice:MultipleChoice",
        ("choice",),
        inputs=f"{ESTIMATES}.texts:count_option_inputs",
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
        inputs=f"{ESTIMATES}.prompts:count_prompt_inputs",
        probe=f"{MODELS_PACKAGE}.generation.capabilities:PROBE",
        probed=("choice", "text", "likelihood"),
        other_paths=(("likelihood", f"{SENTENCE_SCORERS}.causal:CausalLikelihood"),),
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
        inputs=None,
        source=f"{MODELS_PACKAGE}.sources.random:RandomSource",
    ),
    ("fill-mask", "answers"): ANSWERS._replace(answers=("choice", "likelihood")),
    ("question-answering", "answers"): ANSWERS._replace(answers=("span",)),
    ("multiple-choice", "answers"): ANSWERS._replace(answers=("choice",)),
    ("text-classification", "answers"): ANSWERS._replace(answers=("choice",), classes=True),
    ("text-classification", "scorer-answers"): ANSWERS._replace(answers=("score",)),
    ("feature-extraction", "answers"): ANSWERS._replace(answers=("vector",)),
    ("text-generation", "answers"): ANSWERS._replace(answers=("choice", "text", "likelihood")),
}
"""All built-in back ends by task and source.

The source is `weights` of a checkpoint, a `dump` of predictions, `itself` if a model needs neither,
or the name of another `ModelSource`. The sections of scorers name theirs, such as `scorer`, in
`back_end`.
"""


def code_references(entry: RegistryEntry, answer: str) -> list[str]:
    """Returns the modules whose code decides answers of a kind, for `code_digest`."""
    return [entry.class_path(answer).rsplit(":", 1)[0], f"biasgrid.tables.answers.{answer}"]
