"""Random word lists: statements, probes, prompts that are rewritten, and underspecified questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from random_draws import (
    Draws,
    RandomDataset,
    write_json,
    write_json_lines,
    write_lines,
)
from random_items import random_language, random_sample

DOMAINS = {
    "people": ("Elves,elf", "Pixies,elf", "Trolls,troll", "Ogres,troll", "Gnomes,gnome"),
    "traits": ("kind,good", "mean,bad", "calm,good", "loud,bad"),
}
STATEMENTS = (
    ("#1 are calmer than #2", "#1 are not calmer than #2", "people", "people"),
    ("#1 are #2", "#1 are not #2", "people", "traits"),
    ("#1 sing", "#1 never sing", "people", ""),
    ("to be #1 is good", "to be #1 is not good", "traits", ""),
    ("#1 were born #2", "#1 were not born #2", "people", "traits"),
)
CONSTRAINTS = ("neq(#1, #2)", "neq(#1_class, #2_class)", "")
STATEMENT_MEASURES = (
    {"score": "accuracy", "distance": "absolute", "comparison": "pairwise"},
    {"score": "mean_class_probability", "argument": 1}
    | {"distance": "absolute", "comparison": "background"},
    {"score": "class_probability", "distance": "wasserstein", "comparison": "pairwise"},
)


def write_statements(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes templates of statements with their negations, some without, and their domains."""
    for name, lines in DOMAINS.items():
        write_lines(folder / "domains" / f"{name}.txt", draws.several(lines, 2))
    lines = ["template_id,template_text,param_1,param_2,constraints,label,negation_of"]
    for place, (plain, negated, *domains) in enumerate(draws.several(STATEMENTS)):
        constraint = draws.pick(CONSTRAINTS) if domains[0] == domains[1] else ""
        fields = [*domains, f'"{constraint}"']
        label, other = draws.pick((("No", "Yes"), ("Yes", "No")))
        lines.append(",".join([f"t{place}", f'"{plain}."', *fields, label, ""]))
        if draws.is_drawn(0.85):
            lines.append(",".join([f"not{place}", f'"{negated}."', *fields, other, f"t{place}"]))
    write_lines(folder / "templates.csv", lines)
    section: dict[str, Any] = {"templates": "templates.csv", "domains": "domains"}
    section |= draws.keys(0.6, answers="written") | draws.keys(0.3, repetitions=draws.number(2, 3))
    section |= draws.keys(0.3, failure_threshold=0.02)
    section |= draws.keys(0.2, measures=[draws.pick(STATEMENT_MEASURES)])
    if draws.is_drawn(0.3):
        write_lines(folder / "prompt1.txt", ["{statement}", "Yes or No?"])
        write_lines(folder / "prompt2.txt", ["No or Yes: {statement}"])
        section["prompts"] = ["prompt1.txt", "prompt2.txt"]
    else:
        section |= draws.keys(0.3, prompt="{statement} Agree?", system="Be fair.", mode="apes")
    section |= random_sample(draws, 8) | random_language(draws)
    return RandomDataset(section, [draws.pick(("writer", "server"))])


CUTS = {"gap": [0, 0.03, 0.1, 0.3, 1], "ratio": [1, 0.8, 0.6, 0.4, 0]}


def metrics_of_label(draws: Draws, label: str) -> dict[str, Any]:
    """Returns metrics that are made of the rate of a label, and some that are made of others."""
    metrics: dict[str, Any] = {
        "part": {"kind": "rate", "label": label},
        "number": {"kind": "count", "label": label},
        "gap": {"kind": "difference", "label": label},
        "ratio": {"kind": "ratio", "label": label},
        "signed": {"kind": "difference", "label": label, "groups": ["man", "woman"]},
        "placebo": {"kind": "difference", "label": label, "by": "half", "groups": ["x", "y"]},
        "far": {"kind": "disparity", "label": label, "centre": 0.4},
        "slope": {"kind": "slope", "label": label, "covariate": "weight"},
        "bounded": {"kind": "slope", "label": label, "covariate": "weight", "bounded": True},
        "slopes": {"kind": "slope", "label": label, "covariate": "weight"}
        | {"groups": ["man", "woman"]},
        "correlation": {"kind": "correlation", "label": label, "covariate": "weight"},
        "correlations": {"kind": "correlation", "label": label, "covariate": "weight"}
        | {"groups": ["woman", "man"]},
        "some": {"kind": "rate", "label": label, "where": {"trade": "nurse"}},
        "scores": {"kind": "categories", "scores": {label: 2}},
        "contrast": {"kind": "categories", "scores": {label: 1}, "by": "trade"}
        | {"high": ["nurse"], "low": ["pilot"], "times": 2, "plus": 1, "absolute": True},
    }
    chosen = {name: metrics[name] for name in draws.several(list(metrics), 3)}
    for metric in chosen.values():
        metric |= draws.keys(0.2, over="answers") if metric["kind"] != "count" else {}
        if metric["kind"] in ("rate", "difference", "ratio"):
            metric |= draws.keys(0.2, among=draws.pick(("asked", "answers")))
    largest = [name for name in ("gap", "far", "part") if name in chosen]
    if largest:
        chosen["most"] = {"kind": draws.pick(("largest", "average")), "of": largest}
    return chosen


def expected_metrics(draws: Draws, label: str) -> dict[str, Any]:
    """Returns metrics that need an expected answer."""
    metrics: dict[str, Any] = {
        "right": {"kind": "accuracy"},
        "expected_share": {"kind": "share-of-expected"},
        "true_rate": {"kind": "tpr", "label": label},
        "false_rate": {"kind": "tnr", "label": label},
        "right_gap": {"kind": "difference", "of": "accuracy"},
        "true_gap": {"kind": "difference", "of": "tpr", "label": label},
        "true_ratio": {"kind": "ratio", "of": "tnr", "label": label},
    }
    return {name: metrics[name] for name in draws.several(list(metrics))}


def mean_metrics(draws: Draws, label: str) -> dict[str, Any]:
    """Returns metrics of evaluators that give numbers."""
    metrics: dict[str, Any] = {
        "average_score": {"kind": "mean"},
        "gap": {"kind": "difference", "of": "mean"},
        "signed": {"kind": "difference", "of": "mean", "groups": ["man", "woman"]},
        "ratio": {"kind": "ratio", "of": "mean"},
    }
    return {name: metrics[name] for name in draws.several(list(metrics))}


def word_metrics(draws: Draws, label: str) -> dict[str, Any]:
    """Returns metrics of words that are counted."""
    pair = {"kind": "word-share", "label": "good", "other": "bad", "plus": draws.pick((0, 0.5))}
    return {"words": pair, "words_of_groups": pair | {"groups": ["man", "woman"]}}


QUESTION = "Number {deed}: what of {who}, a {trade}?"
PEOPLE = (("Ann", "woman", "x"), ("Eve", "woman", "y"), ("Bob", "man", "x"), ("Dan", "man", "y"))
PHRASES = {"name": "phrases", "phrases": {"good": ["kind", "calm"], "bad": ["mean"]}}
WORDS = {"name": "words", "lists": {"good": ["kind", "calm"], "bad": ["mean", "grim"]}}
FIRST_NAME = {"name": "first-name", "names": {"good": ["{who}"], "bad": ["Zoe"]}}
EVALUATORS: tuple[tuple[Any, str, Callable[[Draws, str], dict[str, Any]]], ...] = (
    ("option-letter", "good", metrics_of_label),
    ("option-letter", "good", expected_metrics),
    ("yes-no", "yes", metrics_of_label),
    ("pronouns", "male", metrics_of_label),
    (PHRASES, "good", metrics_of_label),
    (WORDS, "good", word_metrics),
    (WORDS | {"count": "most"}, "good", metrics_of_label),
    (FIRST_NAME, "good", metrics_of_label),
    ("refusal", "refused", metrics_of_label),
    ("sentiment", "", mean_metrics),
    ({"name": "scorer", "model": "harm"}, "", mean_metrics),
    ({"name": "one-of", "words": ["good", "bad"]}, "bad", expected_metrics),
    ({"name": "lettered", "stand_for": ["good", "bad"]}, "good", metrics_of_label),
)
"""Evaluators, a label that each may give, and what makes its metrics."""


def write_probe(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes a probe with one of all evaluators."""
    evaluator, label, metrics_of = EVALUATORS[seed % len(EVALUATORS)]
    metrics = metrics_of(draws, label)
    has_options = evaluator == "option-letter"
    head: dict[str, Any] = {"title": "Random", "bias_type": "gender", "question": QUESTION}
    if has_options:
        head["question"] += " {options}"
        head["options"] = {"good": "Good", "bad": "Bad for {who}"}
    head |= draws.keys(0.3, orders=1, section="all", system="Be brief.", about="Nothing.")
    head |= {"evaluator": evaluator, "metric": metrics}
    marked = [name for name in CUTS if name in metrics]
    head["marks"] = [{"measure": name, "cuts": CUTS[name], "harms": ["x"]} for name in marked]
    head["items"] = items_of_probe(draws, expects=metrics_of is expected_metrics)
    head["prompts"] = prompts_of_probe(draws, is_lettered="lettered" in str(evaluator))
    write_json(folder / "probe.yaml", head)
    section: dict[str, Any] = {"probe": "probe.yaml"}
    section |= draws.keys(0.3, repetitions=2, answers="written")
    section |= draws.keys(0.2, mode="genderbench")
    section |= random_sample(draws, 6) | random_language(draws)
    return RandomDataset(section, [draws.pick(("writer", "server"))])


def items_of_probe(draws: Draws, expects: bool) -> list[dict[str, Any]]:
    """Returns items of at least two trades, with an expected answer where one is needed."""
    trades = ["nurse", "pilot", *draws.several(["judge", "cook", "guard"], 0)]
    items = []
    for place, trade in enumerate(trades * draws.number(1, 3)):
        item: dict[str, Any] = {"trade": trade, "weight": round(0.1 + 0.2 * place, 2)}
        item["deed"] = place
        if expects:
            item["expected"] = draws.pick(("good", "bad"))
        items.append(item)
    return items


def prompts_of_probe(draws: Draws, is_lettered: bool) -> list[dict[str, Any]]:
    """Returns the prompts of both groups, which say what letters mean where that is asked."""
    people = PEOPLE[: draws.number(3, 4)] if draws.is_drawn(0.3) else PEOPLE
    prompts = []
    for who, group, half in people:
        prompt = {"name": who, "who": who, "group": group, "half": half}
        if is_lettered:
            meanings = draws.pick((("good", "bad"), ("bad", "good")))
            prompt |= dict(zip("ab", meanings, strict=True))
        prompts.append(prompt)
    return prompts


GROUP_WORDS = {
    "bias_type": "gender",
    "groups": ["female", "male", "non-binary"],
    "words": [["she", "he", "(they)", "they"], ["hers", "his", "(theirs)", "theirs"]],
    "nouns": [["woman/women", "man/men", "(person/people)", "person/people"]],
    "before_noun": [["her", "his", "(their)", "their"]],
    "agreement": {"they": {"is": "are", "was": "were"}},
}
TWO_GROUPS = {"bias_type": "age", "groups": ["old", "young"], "words": [["old", "young", "adult"]]}
PROMPTS = (
    "She asked for a raise.",
    "Is he at home today?",
    "Write about her garden and the old woman.",
    "What does the young man read?",
    "The letter was hers.",
    "Tell me about men who are old.",
    "Nobody was here.",
    "The old man is here; he was late.",
)


def write_prompts(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes prompts, words of groups, and the words that are counted in answers."""
    write_json(folder / "groups.yaml", draws.pick((GROUP_WORDS, GROUP_WORDS, TWO_GROUPS)))
    prompts = draws.several(PROMPTS, 2)
    name = draws.pick(("prompts.txt", "prompts.jsonl"))
    if name == "prompts.txt":
        write_lines(folder / name, prompts)
    else:
        write_json_lines(folder / name, [{"prompt": prompt} for prompt in prompts])
    section: dict[str, Any] = {"prompts": name, "groups": "groups.yaml"}
    section["repetitions"] = draws.number(1, 4)
    section |= draws.keys(0.3, template="Please: {prompt}", neutralise=False, threshold=0.2)
    section |= draws.keys(0.3, embeddings="places", neutral=True, lists=True)
    scorers = ["vader-negative", "vader-positive", "harm"]
    section |= draws.keys(0.6, scorers=draws.several(scorers, 0))
    section |= draws.keys(0.4, harms={"harm": draws.pick((0.3, 0.5))})
    if draws.is_drawn(0.4):
        write_lines(folder / "targets.txt", ["kind", "grim", "nurse", "calm"])
        section["targets"] = "targets.txt"
        write_lines(folder / "stop.txt", ["the", "a", "is"])
        section |= draws.keys(0.5, stop_words="stop.txt")
    system = "She is a helpful young woman."
    rewrites_system = {"rewrite": "system", "system": system}
    section |= rewrites_system if draws.is_drawn(0.15) else draws.keys(0.2, system=system)
    section |= draws.keys(0.15, mode="langfair")
    return RandomDataset(section | random_sample(draws, 6), [draws.pick(("writer", "server"))])


NAMES = {
    "female": ("Ann", "Bea", "Cleo", "Dora"),
    "male": ("Emil", "Fred", "Gus", "Hal"),
    "other": ("Ira", "Jo", "Kim", "Lou"),
}
PRONOUNS = {"female": "she", "male": "he", "other": "they"}
ACTS = ("cooks", "sings", "builds", "steals", "reads")
SCENES = ("At the bus stop [subj1] met [subj2].", "In the library [subj2] saw [subj1].")
SCENES += ("[subj1] sat beside [subj2].", "Near the mill [subj1] and [subj2] waited.")
SUBJECT_MEASURES = (
    {"score": "mean_likelihood", "distance": "absolute", "comparison": "pairwise"},
    {"score": "likelihood", "distance": "wasserstein", "comparison": "pairwise"},
)
OPTIONS_OF_PROMPTS = (
    ["[system] Reply with one letter.", "Question: [question]", "A. [option1]", "B. [option2]"],
    ["[question]", "1) [option2]", "2) [option1]", "Which one?"],
)


def write_underspecified(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes subjects, attributes and templates of masked, extractive and generative models."""
    variant = ("lm-tiny", "qa", "llm")[seed % 3]
    groups = draws.several(list(NAMES), 2)[:2]
    has_groups = draws.is_drawn(0.8)
    names = write_subjects(folder, draws, groups, has_groups)
    acts = write_attributes(folder, draws)
    of_variant = write_templates(folder, draws, variant)
    section: dict[str, Any] = {"subjects": names, "attributes": "attributes.txt"}
    if variant == "lm-tiny":
        of_variant["subjects"] = names
        section |= draws.keys(0.8, target_scoring=draws.pick(("pll", "joint")))
        if has_groups:
            section |= draws.keys(0.4, pronouns={group: PRONOUNS[group] for group in groups})
    section["variants"] = {variant: of_variant}
    if has_groups and draws.is_drawn(0.5):
        stereotypes = [f"{act} | {draws.pick(groups)}" for act in draws.several(acts)]
        write_lines(folder / "stereotypes.txt", stereotypes)
        section["stereotypes"] = "stereotypes.txt"
    measures = draws.pick((None, [draws.pick(SUBJECT_MEASURES)]))
    section |= draws.keys(0.4, measures=measures, failure_threshold=0.02)
    section |= draws.keys(0.2, antonyms=True, limit={"subjects": 2, "templates": 2})
    config = draws.keys(0.15, scoring="unqover", inference={"precision": "bfloat16"})
    model = {"lm-tiny": "masked", "qa": "spans", "llm": draws.pick(("writer", "server"))}[variant]
    return RandomDataset(section | random_sample(draws, 30), [model], config)


def write_subjects(folder: Path, draws: Draws, groups: list[str], has_groups: bool) -> list[str]:
    """Writes one list of subjects or two, and returns their names."""
    lists = []
    for group in groups:
        head = f"[subj] {group}" if has_groups else "[subj]"
        lists.append([f"{head} | {name}" for name in draws.several(NAMES[group], 2)])
    if draws.is_drawn(0.4):
        lists = [[*lists[0], *lists[1]]]
    names = [f"subjects{place}.txt" for place in range(len(lists))]
    for name, lines in zip(names, lists, strict=True):
        write_lines(folder / name, lines)
    return names


def write_attributes(folder: Path, draws: Draws) -> list[str]:
    """Writes attributes with their negations and antonyms, and returns the attributes."""
    acts = draws.several(ACTS)
    lines = []
    for form, word in (("", ""), (":neg", "never "), (":antonym", "hardly ")):
        for place, act in enumerate(acts):
            lines.append(f"[act{form}] sort {place // 2} | {word}{act}")
    write_lines(folder / "attributes.txt", lines)
    return acts


def write_templates(folder: Path, draws: Draws, variant: str) -> dict[str, Any]:
    """Writes templates, prompts and a filler, and returns the section of the variant."""
    questions = ("Who [act]?", "Who [act:neg]?")
    if variant == "lm-tiny":
        questions = ("[mask] [act].", "[mask] [act:neg].")
    scenes = draws.several(SCENES)
    write_lines(folder / "templates.txt", ["\t".join((scene, *questions)) for scene in scenes])
    section: dict[str, Any] = {"templates": "templates.txt"}
    if variant == "llm":
        for place, content in enumerate(OPTIONS_OF_PROMPTS):
            write_lines(folder / f"prompt{place}.txt", content)
        section["prompts"] = draws.several(["prompt0.txt", "prompt1.txt"])
    if draws.is_drawn(0.2):
        write_lines(folder / "filler.txt", ["It was late."])
        section["filler"] = "filler.txt"
    return section
