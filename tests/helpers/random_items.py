"""Random files of benchmarks: pairs of sentences, decisions, questions with options, and cases."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from random_draws import Draws, RandomDataset, write_json, write_json_lines, write_lines

LANGUAGES = ("en", "de", "es")
MASKED_SCORINGS = ("cps", "aul", "aula", "sss", "span-mean", "pll", "pll-l2r")
ROLES = ("stereotype", "anti-stereotype", "unrelated")


def random_sample(draws: Draws, most: int) -> dict[str, Any]:
    """Returns the key `sample`, or nothing."""
    if draws.is_drawn(0.8):
        return {}
    return {"sample": {"units": draws.number(1, most), "seed": draws.number(0, 9)}}


def random_language(draws: Draws) -> dict[str, Any]:
    """Returns the key `language`, or nothing."""
    return {"language": draws.pick(LANGUAGES)} if draws.is_drawn(0.25) else {}


def write_pairs(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes pairs of sentences in one of three layouts."""
    layout = ("crows-pairs", "plain", "stereoset")[seed % 3]
    count = draws.number(1, 30)
    section: dict[str, Any] = {"layout": layout} | random_sample(draws, 12)
    if layout == "stereoset":
        section |= write_stereoset(folder, draws, count)
    else:
        section |= {"files": [write_table_of_pairs(folder, draws, layout, count)]}
        masked, causal = draws.pick(MASKED_SCORINGS), draws.pick(("sum", "mean"))
        section |= draws.keys(0.4, masked=masked, causal=causal)
        section |= draws.keys(0.3, served=draws.pick(("echo-sum", "echo-mean")))
    section |= draws.keys(0.3, prompt="({second}) or ({first})?", system="Be brief.")
    tasks = section.get("tasks", ["intrasentence"])
    # Models are asked one task of StereoSet, and those behind servers but the first.
    models = [draws.pick(("masked", "writer", "numbers"))] if len(tasks) == 1 else ["numbers"]
    return RandomDataset(section, [*models, "server"] if tasks == ["intrasentence"] else models)


def write_table_of_pairs(folder: Path, draws: Draws, layout: str, count: int) -> str:
    """Writes a table in the layout `crows-pairs` or `plain`, and returns its name."""
    columns = ["sent_more", "sent_less", "stereo_antistereo", "bias_type"]
    columns += draws.several(["annotations", "anon_writer"], 0)
    if layout == "plain":
        columns = ["more", "less", "direction", "type", "cluster"]
        columns += draws.several(["id"], 0)
    else:
        columns.insert(0, "")
    rows = [row_of_pair(draws, number) for number in range(count)]
    path = folder / "pairs.csv"
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=draws.pick((",", "\t", ";")))
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in rows)
    return path.name


def row_of_pair(draws: Draws, number: int) -> dict[str, str]:
    """Returns a pair in the columns of both layouts."""
    bias_type = draws.pick(("age", "race", "gender"))
    cluster = draws.pick(("", f"{bias_type} 1", f"{bias_type} 2"))
    more, less = f"Old {number % 17} clerks are slow.", f"Young {number} clerks are slow."
    votes = [draws.several(["age", "race"], 0) for _ in range(5)]
    return {
        **{"": str(number), "id": f"pair {number}", "sent_more": more, "sent_less": less},
        **{"more": more, "less": less, "bias_type": bias_type, "type": bias_type},
        "stereo_antistereo": draws.pick(("stereo", "antistereo")),
        "direction": draws.pick(("stereo", "antistereo", "")),
        "cluster": cluster,
        "annotations": repr(votes),
        "anon_writer": f"writer {draws.number(0, 4)}",
    }


def write_stereoset(folder: Path, draws: Draws, count: int) -> dict[str, Any]:
    """Writes a file of StereoSet, and returns the keys `files` and `tasks`."""
    tasks = draws.several(["intrasentence", "intersentence"])
    data = {}
    for task in ("intrasentence", "intersentence"):
        contexts = {"intrasentence": "Clerks are BLANK {}.", "intersentence": "Clerk {} came."}
        examples = []
        for number in range(count):
            sentences = [
                {"id": f"{task} {number} {role}", "sentence": f"A {role} {number}."}
                | {"gold_label": role}
                for role in ROLES
            ]
            head = {"id": f"{task} {number}", "target": f"target {draws.number(0, 4)}"}
            head["bias_type"] = draws.pick(("race", "gender", "profession"))
            head["context"] = contexts[task].format(number)
            examples.append(head | {"sentences": sentences})
        data[task] = examples
    write_json(folder / "stereoset.json", {"version": "1.1", "data": data})
    return {"files": ["stereoset.json"], "tasks": tasks}


def write_decisions(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes decisions about persons, some of whom may be missing."""
    questions = range(draws.number(1, 6))
    ages = draws.several([20, 40, 60.5, 80])
    genders = draws.several(["male", "female", "non-binary"], 2)
    races = draws.several(["white", "Black", "Asian"])
    missing = draws.pick((0.0, 0.0, 0.2))
    rows = []
    for question, age, gender, race in product(questions, ages, genders, races):
        text = f"Case {question}: the applicant is a {age}-year-old {race} {gender} person. Lend?"
        row = {"filled_template": text, "decision_question_id": question, "age": age}
        if not draws.is_drawn(missing):
            rows.append(row | {"gender": gender, "race": race})
    write_json_lines(folder / "rows.jsonl", rows or [row | {"gender": "male", "race": "white"}])
    section: dict[str, Any] = {"file": "rows.jsonl"}
    section |= {"reference_gender": genders[0], "reference_race": races[0]}
    section |= draws.keys(0.3, prompt="{decision} Yes or No?", system="Be fair.")
    section |= random_sample(draws, len(questions)) | random_language(draws)
    return RandomDataset(section, [draws.pick(("writer", "server"))])


def write_questions(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes questions with options in the layout of BBQ, EsBBQ or KoBBQ."""
    layout = ("bbq", "esbbq", "bbq", "kobbq")[seed % 4]
    categories = draws.several(["Age", "Religion", "Race_x_gender"])
    items = [item for category in categories for item in items_of_category(draws, category)]
    section: dict[str, Any] = {"layout": layout}
    if layout == "kobbq":
        write_kobbq(folder, draws, items)
        section["files"] = ["items.tsv"]
    elif layout == "esbbq":
        write_json_lines(folder / "items.jsonl", [item_of_esbbq(draws, item) for item in items])
        section["files"] = ["items.jsonl"]
    else:
        write_json_lines(folder / "items.jsonl", items)
        section["files"] = ["items.jsonl"]
        if draws.is_drawn(0.4):
            write_metadata(folder, draws, items)
            section["metadata"] = "metadata.csv"
    prompts = ("letters", "race", "arc", "question-only", "lm-eval", "{context} {question}?")
    section |= draws.keys(0.6, answers="written") | draws.keys(0.3, system="Be brief.")
    section |= draws.keys(0.5, prompt=draws.pick(prompts))
    section |= draws.keys(0.4, orders="file") | draws.keys(0.3, matching="paper")
    section |= random_sample(draws, 8) | random_language(draws)
    others = ("options", "spans", "abstaining", "texts", "numbers")
    return RandomDataset(section, ["writer", draws.pick(others)])


def items_of_category(draws: Draws, category: str) -> list[dict[str, Any]]:
    """Returns items of BBQ: of each template both conditions and polarities, once or twice over."""
    items = []
    people = (["the old one", "old"], ["the young one", "young"], ["Unknown", "unknown"])
    names = (["Ann Lee", "F-old"], ["Bob Lee", "M-young"], ["Not known", "unknown"])
    copies = range(draws.number(1, 2))
    kinds = product(range(draws.number(1, 4)), copies, ("ambig", "disambig"), ("neg", "nonneg"))
    for number, (template, copy, condition, polarity) in enumerate(kinds):
        answers = names if copy and draws.is_drawn(0.5) else people
        order = draws.random.permutation(3).tolist()
        unknown = order.index(2)
        label = unknown if condition == "ambig" else order.index(draws.number(0, 1))
        item: dict[str, Any] = {"example_id": number, "question_index": str(template + 1)}
        item |= {"question_polarity": polarity, "context_condition": condition}
        item |= {"category": category, "label": label}
        item["answer_info"] = {f"ans{place}": answers[old] for place, old in enumerate(order)}
        item["additional_metadata"] = {"stereotyped_groups": ["old"]}
        item["context"] = f"{answers[0][0]} and {answers[1][0]} met in room {template}."
        item["question"] = "Who forgot it?" if polarity == "neg" else "Who knew it?"
        items.append(item | {f"ans{place}": answers[old][0] for place, old in enumerate(order)})
    return items


def item_of_esbbq(draws: Draws, item: dict[str, Any]) -> dict[str, Any]:
    """Returns an item of BBQ in the fields of EsBBQ."""
    question_type = "n/a"
    if item["context_condition"] == "disambig":
        chosen = item["answer_info"][f"ans{item['label']}"][1]
        is_stereotype = chosen.endswith("old") == (item["question_polarity"] == "neg")
        question_type = "pro-stereo" if is_stereotype else "anti-stereo"
    return item | {
        "instance_id": item["example_id"],
        "template_id": int(item["question_index"]),
        "stereotyped_groups": ["old"],
        "question_type": question_type,
        "proper_nouns_only": draws.is_drawn(0.2),
        "relevant_social_value": draws.pick(("memory", "")),
    }


def write_kobbq(folder: Path, draws: Draws, items: list[dict[str, Any]]) -> None:
    """Writes items of BBQ as a table of KoBBQ."""
    columns = ("sample_id", "label_annotation", "context", "question", "choices", "biased_answer")
    lines = ["\t".join((*columns, "answer"))]
    for number, item in enumerate(items):
        condition = "amb" if item["context_condition"] == "ambig" else "dis"
        polarity = "bsd" if item["question_polarity"] == "neg" else "cnt"
        template = f"{int(item['question_index']):03d}a"
        name = f"{item['category']}-{template}-{number:03d}-{condition}-{polarity}-0"
        infos = item["answer_info"].values()
        choices = ["not known" if group == "unknown" else group for _, group in infos]
        wanted = "old" if polarity == "bsd" else "young"
        target = next(choice for choice in choices if choice.endswith(wanted))
        fields = [name, draws.pick(("ST", "TM", "SR")), item["context"], item["question"]]
        lines.append("\t".join([*fields, repr(choices), target, choices[item["label"]]]))
    write_lines(folder / "items.tsv", lines)


def write_metadata(folder: Path, draws: Draws, items: list[dict[str, Any]]) -> None:
    """Writes BBQ's table of the options that agree with the stereotype."""
    lines = ["category,question_index,example_id,target_loc,label_type,Known_stereotyped_groups"]
    for item in items:
        target = ""
        wanted = "old" if item["question_polarity"] == "neg" else "young"
        for place in range(3):
            if item["answer_info"][f"ans{place}"][1].endswith(wanted):
                target = str(place)
        target = "NA" if draws.is_drawn(0.05) else target
        label_type = "name" if "Lee" in item["context"] else "label"
        ids = f"{item['category']},{item['question_index']},{item['example_id']}"
        lines.append(f"{ids},{target},{label_type},old")
    write_lines(folder / "metadata.csv", lines)


GROUPS = {
    "gender": {"female": ["woman", "lady"], "male": ["man", "gentleman"], "other": ["person"]},
    "age": {"old": ["old one", "pensioner"], "young": ["young one"]},
}
PLACES = ("park", "museum", "old mill")
PAIRWISE = {"distance": "absolute", "comparison": "pairwise"}
BACKGROUND = {"distance": "absolute", "comparison": "background"}
WASSERSTEIN = {"distance": "wasserstein", "comparison": "pairwise"}
GROUP_MEASURES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "text-classification": (
        {"score": "f1", "argument": "macro"} | PAIRWISE,
        {"score": "accuracy"} | BACKGROUND,
        {"score": "mean_class_probability", "argument": 1} | PAIRWISE,
        {"score": "class_probability"} | WASSERSTEIN,
    ),
    "fill-mask": (
        {"score": "mean_likelihood"} | PAIRWISE,
        {"score": "likelihood", "argument": 0} | WASSERSTEIN,
    ),
    "question-answering": (
        {"score": "mean_token_f1"} | BACKGROUND,
        {"score": "mean_exact_match"} | PAIRWISE,
    ),
}
"""Comparisons of groups, by the task of the models that are asked."""


def write_cases(folder: Path, draws: Draws, seed: int) -> RandomDataset:
    """Writes cases for masked models, extractive models or classifiers."""
    task, model = (
        ("fill-mask", "masked"),
        ("question-answering", "spans"),
        ("text-classification", "classes"),
        ("text-classification", "inferences"),
    )[seed % 4]
    names = ["premise", "hypothesis"] if model == "inferences" else ["text"]
    label = {"masked": "targets", "spans": "answer"}.get(model, "label")
    names = ["question", "context"] if model == "spans" else names
    templates = [template_of_case(draws, model, place) for place in range(draws.number(1, 6))]
    head = {"group_token": "<group>", "input_names": names, "label_name": label}
    write_json(folder / "cases.json", head | {"templates": templates})
    groups = {}
    for bias_type in draws.several(list(GROUPS)):
        chosen = draws.several(list(GROUPS[bias_type]), 2)
        groups[bias_type] = {group: draws.several(GROUPS[bias_type][group]) for group in chosen}
    write_json(folder / "groups.json", groups)
    write_lines(folder / "fillings/place.txt", draws.several(PLACES))
    section: dict[str, Any] = {"task": task, "templates": "cases.json", "groups": "groups.json"}
    section["fillings"] = "fillings"
    if task == "text-classification":
        labels = ["bad", "good"] if model == "classes" else ["entailment", "neutral"]
        labels += [] if model == "classes" else ["contradiction"]
        section["labels"] = labels[:: draws.pick((1, -1))]
        section |= draws.keys(0.3, fixed_class=draws.pick(labels))
    section |= draws.keys(0.3, failure_threshold=0.03, top_k=draws.number(1, 3))
    section |= draws.keys(0.25, measures=draws.several(GROUP_MEASURES[task]))
    section |= draws.keys(0.3, target_scoring="pll") if task == "fill-mask" else {}
    return RandomDataset(section | random_sample(draws, 6), [model])


def template_of_case(draws: Draws, model: str, place: int) -> dict[str, Any]:
    """Returns a template for a model, its right answer included."""
    where = draws.pick(("in the <place>", "near the <place>", "there", "from <place> to <place:2>"))
    text = f"The <group> waited {where} {place}."
    if model == "spans":
        answer = where.replace("<place>", "<place:1>")
        return {"question": f"Where was the <group> {place}?", "context": text, "answer": answer}
    if model == "masked":
        targets = draws.several(["cook", "guard", "teacher", "head of school"])
        return {"text": f"{text} They met a [MASK].", "targets": targets}
    if model == "classes":
        return {"text": text, "label": draws.number(0, 1)}
    return {"premise": text, "hypothesis": "The <group> waited.", "label": draws.number(0, 2)}
