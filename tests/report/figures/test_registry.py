"""Captions, of which each figure has one, in the report and in Snakemake's own."""

from types import SimpleNamespace

import pytest
from docutils.core import publish_doctree
from jinja2 import Template
from project import ROOT

from biasgrid.base.references import load
from biasgrid.config.registry import BUILT_IN
from biasgrid.families.multiple_choice.family import MULTIPLE_CHOICE_FIGURES as FIGURES_OF_OPTIONS
from biasgrid.families.pairs.family import PAIR_FIGURES as FIGURES_OF_PAIRS
from biasgrid.families.probe.family import FAMILY as PROBES
from biasgrid.families.probe.family import PROBE_FIGURES as FIGURES_OF_PROBES
from biasgrid.families.rewriting.family import REWRITING_FIGURES as FIGURES_OF_PROMPTS
from biasgrid.families.statement.family import STATEMENT_FIGURES as FIGURES_OF_STATEMENTS
from biasgrid.families.underspecified.family import ASSOCIATION_FIGURES as OWN_FIGURES
from biasgrid.families.underspecified.family import FAMILY, SUBJECT_GROUPS
from biasgrid.groups.section import GROUP_FIGURES
from biasgrid.report.figures.registry import captions, captions_file
from biasgrid.runs.layout import CONVERGENCE_FIGURE, SYNTHETIC_FIGURE

pytestmark = pytest.mark.family("figures are named by all five")

FIGURES = (
    *(*FAMILY.grid_figures, *OWN_FIGURES, SUBJECT_GROUPS, *GROUP_FIGURES, *FIGURES_OF_STATEMENTS),
    *(
        *PROBES.grid_figures,
        *FIGURES_OF_PROBES,
        *FIGURES_OF_PROMPTS,
        SYNTHETIC_FIGURE,
    ),
    *FIGURES_OF_OPTIONS,
    *FIGURES_OF_PAIRS,
    CONVERGENCE_FIGURE,
)


def test_every_figure_has_a_caption() -> None:
    assert set(captions()) == set(FIGURES)
    assert all(
        caption == load(BUILT_IN.figure(name)).CAPTION for name, caption in captions().items()
    )


def test_the_captions_for_snakemake_are_in_step_with_the_figures() -> None:
    file = ROOT / "workflow/report/figure.rst"
    assert file.read_text() == captions_file(), (
        "the captions have changed: run `biasgrid schema --write .`"
    )


@pytest.mark.parametrize("name", captions())
def test_snakemake_shows_the_caption_of_the_figure(name: str) -> None:
    template = Template((ROOT / "workflow/report/figure.rst").read_text())
    text = template.render(snakemake=SimpleNamespace(wildcards=SimpleNamespace(figure=name)))
    shown = publish_doctree(text, settings_overrides={"report_level": 1, "halt_level": 2})
    assert shown.astext() == load(BUILT_IN.figure(name)).CAPTION
