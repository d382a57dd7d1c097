"""Bad inputs of what generative models are asked: probes and rewritten prompts."""

from __future__ import annotations

from changes import GONE, bad, swap

YAML, TONE = "word_lists/probes/probe.yaml", "word_lists/probes/tone.yaml"
PHRASES = "evaluator: {name: phrases, phrases: {good: [fine], bad: []}}"
CUTS = "[0, 0.5, 0.6, 0.75, 1]"
PROBES = [
    bad(
        YAML,
        swap("option-letter", "option-leter"),
        "evaluator",
        "'option-leter' (did you mean 'option-letter'?)",
    ),
    bad(YAML, swap("share-of-expected", "share-of-all"), "metric.rate", "'share-of-all'"),
    bad(
        YAML,
        swap("{who}", "{whom}"),
        "line 3, question: unknown placeholder {whom} (did you mean 'who'?)",
    ),
    bad(YAML, swap("{who}", "{who"), "line 3, question", "has a brace outside a placeholder"),
    bad(
        YAML,
        swap("expected: bad", "expected: bed"),
        "line 7, items[1].expected: 'bed' (did you mean 'bad'?)",
    ),
    bad(
        YAML,
        swap("who: a man, ", ""),
        "line 7, items[1]: has no key 'who', which the question needs",
    ),
    bad(
        YAML,
        swap(", expected: bad", ""),
        "items[1]: has no key 'expected', which the metric 'rate' needs",
    ),
    bad(YAML, swap(" {options}", ""), "question", "lacks {options}"),
    bad(YAML, swap("evaluator", "evaluater"), "evaluater: unknown key (did you mean 'evaluator'?)"),
    bad(YAML, swap(CUTS, "[0, 0.5, 0.4, 0.75, 1]"), "marks"),
    bad(YAML, swap(CUTS, "[0, 0.5, 1]"), "marks"),
    bad(
        YAML,
        swap(
            f"cuts: {CUTS}",
            "ranges: {A: [[0, 0.1]], B: [[0.2, 0.5]], C: [[0.5, 0.6]], D: [[0.6, 1]]}",
        ),
        "gap between A and B",
    ),
    bad(
        YAML,
        swap(
            f"cuts: {CUTS}",
            "ranges: {A: [[0, 0.3]], B: [[0.2, 0.5]], C: [[0.5, 0.6]], D: [[0.6, 1]]}",
        ),
        "overlap",
    ),
    bad(YAML, swap("measure: rate", "measure: rat"), "unknown metric 'rat' (did you mean 'rate'?)"),
    bad(
        YAML, swap("measure: rate", "measure: rate, placebo: rat"), "placebo: unknown metric 'rat'"
    ),
    bad(
        YAML,
        swap("evaluator: option-letter", "names: whom\nevaluator: option-letter"),
        "no prompt has the key 'whom'",
    ),
    bad(
        YAML,
        swap("share-of-expected", "{kind: tpr, label: bad, among: asked}"),
        "metric.rate: has kind, label, among; expected `among` only for the rate of a label",
    ),
    bad(
        YAML,
        swap("Good, bad: Bad", "Bad, bad: Bad"),
        "the options 'good' and 'bad' are both 'Bad'; expected different texts",
    ),
    bad(
        YAML,
        swap("{good: Good, bad: Bad}", '{good: "{who}", bad: a man}'),
        "items[1]: the options 'good' and 'bad' are",
    ),
    bad(
        YAML,
        swap("group: man", "group: Cook"),
        "items[1]: the group 'Cook' differs from 'cook' only in case or normal form",
    ),
    bad(
        YAML,
        swap("evaluator: option-letter", PHRASES),
        "evaluator.phrases.bad: []; expected phrases that are not blank",
    ),
    bad(
        YAML,
        swap("evaluator: option-letter", PHRASES.replace("[]", "[' ']")),
        "evaluator.phrases.bad: [' ']; expected",
    ),
    bad(
        YAML,
        swap("evaluator: option-letter", PHRASES.replace("[]", "[FINE]")),
        "'FINE' already stands for 'good'; expected",
    ),
    bad(
        YAML,
        swap("evaluator: option-letter", PHRASES.replace("bad: []", "Good: ['no']")),
        "the label 'Good' differs from 'good' only in case or normal form",
    ),
    bad(YAML, b"title: [", "probe.yaml", "not YAML"),
    bad(YAML, b"", "probe.yaml"),
    bad(YAML, swap("Write", "Wr\u200bite"), "contains U+200B (ZERO WIDTH SPACE)"),
    bad("datasets.probe.probe", "probes/no.yaml", "probes/no.yaml: cannot be read"),
    bad("datasets.probe.sample", {"units": 3}, "sample.units: 3 units, but there are only 2 items"),
    bad("datasets.probe.mode", "gender-bench", "datasets.probe.mode: 'gender-bench'"),
    bad(
        TONE,
        swap("model: nice", "model: nise"),
        "datasets.tone: asks 'nise' (did you mean 'nice'?)",
    ),
    bad(
        TONE,
        swap("model: nice", "model: moody"),
        "asks 'moody', which does not give texts a `score`; expected one of nice",
    ),
    bad(
        "models.nice.scorer.labels",
        ["POS", "rude"],
        "classes ['NEG', 'POS'], without ['rude']",
        "`scorer.labels`",
    ),
    bad(
        "models.nice.scorer.labels", [], "models.nice.scorer.labels: []; expected 1 or more entries"
    ),
    bad(
        "models.nice.scorer.activation",
        "relu",
        "models.nice.scorer.activation: 'relu'; expected one of",
    ),
    bad("models.nice.scorer.join", "mean", "models.nice.scorer.join: 'mean'; expected one of"),
    bad("models.nice.scorer", GONE, "models.nice.labels: {}; expected the names of the classes"),
    bad(
        "models.nice.labels",
        {"bad": "NEG", "good": "POS"},
        "expected either `labels` for the classes of a dataset, or",
    ),
]
"""Of probes and of scorers of their answers."""
ASKED, WORDS, LETTERS = (
    "word_lists/letters/prompts.jsonl",
    "word_lists/letters/groups.yaml",
    "datasets.letters",
)
REWRITTEN = [
    bad(ASKED, "", "prompts.jsonl: contains no prompts"),
    bad(
        ASKED,
        swap('"prompt"', '"promt"'),
        "prompts.jsonl, line 1: no column 'prompt' (did you mean 'promt'?)",
    ),
    bad(
        ASKED,
        swap('"He asked for a raise."', "[1]"),
        "prompts.jsonl, line 1: [1]; expected a prompt",
    ),
    bad(
        ASKED,
        swap("He asked", "They asked"),
        "none of the 2 prompts contains a word of a group; expected words of female, male in",
    ),
    bad(
        WORDS,
        swap("him, them", "him"),
        "line 5, words[1]: 2 words; expected 3 words, as in the other rows",
    ),
    bad(
        WORDS,
        swap("her, him", "her, she"),
        "line 5, words[1]: 'she' is a word of female and of male",
    ),
    bad(
        WORDS,
        swap("female, male", "male, Male"),
        "line 2, groups: 'Male' differs from 'male' only in case or normal form",
    ),
    bad(
        WORDS,
        swap("[her, him", "[caf\u00e9, cafe\u0301"),
        "is 'caf\u00e9' in a different Unicode normal form; expected each word once",
    ),
    bad(
        WORDS,
        swap("female, male", "male, male"),
        "line 2, groups: 'male' appears twice; expected each group once",
    ),
    bad(
        f"{LETTERS}.scorers",
        ["moody"],
        "asks 'moody', which does not give texts a `score`; expected one of nice",
    ),
    bad(f"{LETTERS}.embeddings", "nice", "asks 'nice', which does not give texts a `vector`"),
    bad(f"{LETTERS}.rewrite", "system", "letters.rewrite: `system`, but there is no system text"),
    bad(
        f"{LETTERS}.sample",
        {"units": 5},
        "letters.sample.units: 5 units, but there are only 1 prompts that contain words",
    ),
    bad(
        f"{LETTERS}.prompts",
        "letters/prompts.doc",
        "prompts.doc: the file extension '.doc'; expected prompts",
    ),
    bad(f"{LETTERS}.stop_words", "nltk", "letters.stop_words: 'nltk', but there are no `targets`"),
    bad(
        f"{LETTERS}.targets",
        "letters/no.txt",
        "letters/no.txt: cannot be read",
        "expected one word per line",
    ),
    bad(
        f"{LETTERS}.repetition", 2, "letters.repetition: unknown key (did you mean 'repetitions'?)"
    ),
]
