"""What one sees in each figure and what it does not mean; the report puts it below the figure."""

from __future__ import annotations

GAMMA = "\N{GREEK SMALL LETTER GAMMA}"
"""Spelled out, because in code it looks like a Latin y."""

CAPTIONS = {
    "intensity_mu": (
        "Bias intensity μ of every cell: each bar is one model, each panel one dataset, all on one scale. "
        "A long bar says that the model prefers some subjects strongly for some attributes; it does not "
        "say which, nor that the preference is the one people hold. Panels with more attributes tend to "
        "have longer bars, because μ takes the largest of them."
    ),
    "intensity_eta": (
        "Bias consistency η of every cell: how uniformly the model prefers one subject over another, "
        "whatever the template and the partner. A long bar can come from preferences that are minute but "
        "always the same, so it says nothing about their size; read it together with μ."
    ),
    "errors": (
        "Positional error δ (how much an answer's probability depends on which subject is named first) "
        "and attributive error ε (how much it fails to follow the negation) beside bias intensity μ. "
        f"These errors are cancelled in {GAMMA}, so they do not add to μ; but where they are much larger "
        "than μ, the model hardly understands the question and its bias is a small part of what it does."
    ),
    "ranks": (
        f"Subjects ranked by {GAMMA}(subject), averaged over all attributes: rank 1 is the subject with "
        "which a model associates the attributes most. Points are means over the models of a kind, bars "
        "one standard deviation over these models. Ranks hide how far apart subjects are, and a rank in "
        "the middle with a long bar means that models disagree, not that there is no bias. Only subjects "
        "that all models of the kind were asked about count."
    ),
    "heat_map": (
        f"{GAMMA} of each subject (row) and attribute (column), averaged over the models of a kind. Red: "
        "associated more with this subject than with those it is compared with, blue: less, grey: not "
        "asked. Colours compare subjects within a column; red does not mean that a model thinks the "
        "attribute likely, only likelier than for others. The 2 % strongest cells share the end colours. "
        "Rows and columns are sorted by similarity (leading singular vectors)."
    ),
    "associations": (
        f"The pairs of subject and attribute with the largest mean |{GAMMA}| over models, of those whose mean {GAMMA} "
        "is not negative (the heat map shows the others too), each model a mark. They are the top of a long list, so "
        "some are there by chance; marks that lie together on one side of zero say that models agree. They describe "
        "these models and questions, not the people who are named."
    ),
    "bipartite": (
        "For each attribute the three subjects that win it most often: the wider and darker the line, the "
        "larger the share of comparisons that the subject wins (0.5 = no preference), averaged over "
        "models. Where there are many attributes or subjects their clusters stand for them, and at most "
        "12 attributes are shown, those won most clearly. A win counts whether its margin is large or "
        "minute."
    ),
    "group_scores": (
        "The score of every group: each mark is a model's score over all cases and identity terms, each bar the "
        "middle half of the cases. Cases differ from each other, whatever group is named, so bars that overlap do not "
        "say that groups are treated alike: compare the marks of one model within a panel, and see the next figure. "
        "A high score is good or bad for a group as the texts are, which the sentences show."
    ),
    "group_pairs": (
        "How far apart a model scores two groups in one and the same case, averaged over cases: a block for each bias "
        "type, in it a matrix for each model, all in one scale of colours. A group's number stands beside its row "
        "and, on the diagonal, in its column. Darker: farther apart; it does not say which of the two scores higher. "
        "A dark row with its column is a group that is treated unlike the others. Distances are never negative, so "
        "noise alone makes them larger than 0. The 2 % largest ones share the darkest colour. Where models and groups "
        "are too many, the groups in the middle of the order by score are left out."
    ),
    "group_templates": (
        "The mean distance of two groups within a case, for each template. Where few templates are dark, they make "
        "most of the difference, and other templates might show another picture; a row that is dark throughout says "
        "that the model tells groups apart whatever is said. Templates have few or many cases, so some columns rest "
        "on little."
    ),
    "failure_curve": (
        "The share of cases that fail, for every threshold of what counts as a failure: the mean difference of two "
        "groups of a case (left, as published) or its largest one (right) must be larger. The mean hides a single "
        "group among many that is treated unlike the others; the largest grows with the number of groups even by "
        "chance, so compare models, not bias types, on the right. Rates are known at the thresholds of the tables, "
        "and lines join them."
    ),
    "planted": (
        f"Models that were trained on texts with a known bias: measured {GAMMA} against planted {GAMMA}, "
        "with the line on which both are equal. Points on the line say that the whole chain from word "
        "lists to measures returns what was put in; they do not say that real models' biases are measured "
        "as exactly, since those were never planted."
    ),
    "planted_groups": (
        "Classifiers that were trained on labels of which a known share are guesses, more for one group than for "
        "another: the measured probability of the right class of each group against the planted one, with the line on "
        "which both are equal. Points on the line say that the whole chain from templates to measures returns what was "
        "put in, group by group; they do not say that such differences of real models are measured as exactly, or "
        "where these come from."
    ),
}
"""Captions by the name of the figure's file."""
