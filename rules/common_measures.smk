# What rules share of measures and of how sure they are.

from functools import cache

from biasgrid.config import digest_of_templates, clusters_of_variant
from biasgrid.base.references import exists, stage
from biasgrid.tables.metric import MetricDefinitions


# Params that a function makes of `input` are not compared: where the record lies runs nothing again.
def record_of_cell(wildcards, input):
    """The record of the model of a cell, which its predictions are compared with; none where a dump stands in."""
    return None if is_imported(wildcards.model) else str(layout.record("models", wildcards.model))


def measured(wildcards):
    """How a cell is measured: what decides its measures, and what its predictions must say of themselves."""
    family, question = family_of_dataset(wildcards), grid.question(wildcards.model, wildcards.dataset)
    return dict(
        family=family,
        answer=question.answer,
        declared=declared_measures(wildcards.dataset),
        expected=grid.what_predictions_say(wildcards.model, wildcards.dataset),
        dump=origin_of_dump(wildcards) if is_imported(wildcards.model) else None,
        options=dict(question.options),
        scorers=scorers_of_cell(wildcards),
        code=code_of("measure", stage(family, "keys"), stage(family, "measure")),
    )


def assessed(wildcards):
    """How a cell's measures are assessed: what decides how sure they are."""
    family, question = family_of_dataset(wildcards), grid.question(wildcards.model, wildcards.dataset)
    return dict(
        family=family,
        answer=question.answer,
        headlines=declared_measures(wildcards.dataset).headlines,
        units=units_of_measures(wildcards.dataset),
        options=dict(question.options),
        scorers=scorers_of_cell(wildcards),
        clusters=clusters_of_templates(wildcards.dataset, question.variant),
        templates=templates_of_variant(wildcards.dataset, question.variant),
        settings=grid.statistics.model_dump(),
        code=code_of("statistics", *stages_of_statistics(family)),
    )


@cache
def clusters_of_templates(dataset, variant):
    """The cluster of each template of a dataset's variant."""
    return clusters_of_variant(grid, word_lists, dataset, variant)


@cache
def templates_of_variant(dataset, variant):
    """A digest of what the templates of a dataset's variant say."""
    return digest_of_templates(grid, word_lists, dataset, variant)


@cache
def units_of_measures(dataset):
    """The units of a dataset's measures, but for validity flags; none of what no sampling would change."""
    told = {name: measure for name, measure in grid.measures_of(dataset).items() if measure.limit is None}
    return {name: measure.unit if measure.design else None for name, measure in told.items()}


@cache
def stages_of_statistics(family):
    """The modules of a family that its statistics are made with."""
    return [each for each in (stage(family, name) for name in ("keys", "measure", "statistics")) if exists(each)]


def datasets_whose_observations_are(kept):
    """A pattern of the datasets whose families keep what they observe as a table, or do not."""
    return "|".join(name for name in grid.datasets if grid.family(name).keeps_observations == kept) or "none"


@cache
def declared_measures(dataset):
    """What is declared of the measures of a dataset: names, headlines and limits."""
    return MetricDefinitions.of(grid.measures_of(dataset))
