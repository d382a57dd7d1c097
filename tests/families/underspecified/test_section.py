"""Sections of underspecified questions in a config: what they name, and what is wrong with them in
plain words.
"""

from pathlib import Path

import pytest
from small_config import CONTENT, changed, faults_of

from biasgrid.base.faults import InputError
from biasgrid.config import (
    load_word_lists,
    parse_config,
    read_config,
    shared_template_texts,
    variant_clusters,
)
from biasgrid.tables.metric import MetricDefinitions

ROOT = Path(__file__).parents[3]
F1 = {"score": "f1", "distance": "absolute", "comparison": "pairwise"}
RELIGION = "datasets/religion"
KEY = "datasets/religion/template_clusters"
MEASURE_KEYS = "expected a section of keys such as score, argument, distance, comparison"
VARIANT = (
    "expected `qa`, `lm` or `llm`, or one of them with a hyphen and more letters, such as "
    "`qa-newsqa` or `lm-bert`"
)
NUMBER = "expected a number, such as 0.001 or 1.0e-3"
CLUSTERS = [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            "datasets/religion/variants/qa/filer",
            "x",
            "variants.qa.filer: unknown key (did you mean 'filler'?); expected",
        ),
        (
            "models/answers/variant",
            "qa-newsq",
            (
                "run.models: 'answers' answers none of the selected datasets: there is no variant "
                "'qa-newsq', only lm-bert, qa"
            ),
        ),
        (
            "datasets/religion/target_scoring",
            "pll-l2",
            (
                "datasets.religion.target_scoring: 'pll-l2' (did you mean 'pll-l2r'?); expected "
                "one of joint, pll, pll-l2r"
            ),
        ),
        (
            "models/masked/variant",
            "lm-bret",
            (
                "models.masked.variant: unknown tokenizer 'bret' (did you mean 'bert'?); expected "
                "one of bert (tokenizers)"
            ),
        ),
        (
            "validity",
            {"cluster": 3},
            (
                "validity: unknown name 'cluster' (did you mean 'clusters'?); expected one of "
                "accuracy, accuracy_at_chance, at_chance"
            ),
        ),
        (
            "datasets/religion/variants/lm-brt",
            {"templates": "t"},
            "variants.lm-brt: unknown tokenizer 'brt' (did you mean",
        ),
        (
            "tokenizers/bert/checkpoint",
            None,
            "tokenizers.bert: 'bert' has no `checkpoint` or `folder`, but filters the subjects",
        ),
        (
            "models/masked/task",
            "question-answering",
            (
                "models.masked.variant: 'lm-bert' is not for the task 'question-answering'; "
                "expected one of qa"
            ),
        ),
    ],
)
def test_a_fault_names_key_value_what_is_allowed_and_the_nearest(
    path: str, value: object, expected: str
) -> None:
    faults = faults_of(changed(path, value))
    assert all(fault.startswith("c.yaml, ") for fault in faults)
    assert [fault for fault in faults if expected in fault] == faults[:1]


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (
            f"{RELIGION}/failure_threshold",
            "1e-3",
            f"datasets.religion.failure_threshold: '1e-3'; {NUMBER}",
        ),
        (
            f"{RELIGION}/failure_threshold",
            True,
            f"datasets.religion.failure_threshold: true; {NUMBER}",
        ),
        (
            f"{RELIGION}/subjects",
            ["a", "b", "c"],
            "religion.subjects: ['a', 'b', 'c']; expected at most 2 entries",
        ),
        (f"{RELIGION}/measures", ["f1"], f"datasets.religion.measures[0]: 'f1'; {MEASURE_KEYS}"),
        (
            f"{RELIGION}/measures",
            [F1 | {"scor": 1}],
            "datasets.religion.measures[0].scor: unknown key (did you mean",
        ),
        (
            f"{RELIGION}/variants/quiz",
            {"templates": "t"},
            f"datasets.religion.variants: the key 'quiz'; {VARIANT}",
        ),
        (
            f"{RELIGION}/pronouns",
            {True: "she"},
            "datasets.religion.pronouns: the key true; expected text, in quotes",
        ),
        (
            f"{RELIGION}/limit",
            {"subjects": -1},
            "datasets.religion.limit.subjects: -1; expected a number greater than 0",
        ),
    ],
)
def test_a_wrong_value_is_one_fault_in_plain_words(path: str, value: object, expected: str) -> None:
    (fault,) = faults_of(changed(path, value))
    assert expected in fault


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"subjects": None}, "subjects: null; expected a list, such as [a, b]"),
        (
            {"variants": {"qa": None}},
            "variants.qa: null; expected a section of keys such as templates",
        ),
    ],
)
def test_a_key_without_a_value_is_one_fault(changes: dict[str, object], expected: str) -> None:
    (fault,) = faults_of(changed(RELIGION, CONTENT["datasets"]["religion"] | changes))
    assert f"c.yaml, datasets.religion.{expected}" in fault


def test_a_good_config_shows_its_cells_and_files() -> None:
    config = parse_config(CONTENT, "c.yaml")
    assert list(config.cells()) == [("answers", "religion"), ("masked", "religion")]
    assert [*config.selected_variants] == [("religion", "qa"), ("religion", "lm-bert")]
    files = config.files("religion", "lm-bert")
    assert (files.templates, files.mask, files.filler) == (
        Path("word_lists/templates/religion-lm.txt"),
        "[MASK]",
        None,
    )
    assert files.subjects == (Path("word_lists/subjects/religion.txt"),)
    assert config.question("masked", "religion").tokenizer == "bert"
    assert config.question("answers", "religion").tokenizer is None
    assert config.model_record_arguments("masked")["checkpoint"] == "bert-base-uncased"
    assert config.model_record_arguments("trained")["folder"] == "results/trained/trained"
    assert config.tokenizer_record_arguments("bert")["checkpoint"] == "bert-base-uncased"


def test_measuring_knows_half_precision_because_its_shares_need_more_mass() -> None:
    precise, coarse = (
        parse_config(changed("inference", {"precision": each}), "c.yaml")
        for each in ("float32", "float16")
    )
    for model in ("masked", "answers"):
        assert "precision" not in precise.question(model, "religion").measure_options
        assert coarse.question(model, "religion").measure_options["precision"] == "float16"


def test_the_files_of_unqovers_config_are_unqovers() -> None:
    """The names are those of the original's repository (its word lists beyond the golden ones are
    not at hand).
    """
    config = parse_config(read_config(ROOT / "config/unqover.yaml"), "config/unqover.yaml")
    found = {
        path.relative_to("unqover/word_lists")
        for pair in config.selected_variants
        for path in config.files(*pair).paths()
    }
    suffixes = ("", "_bert", "_roberta")
    lists = ("female", "male", "country", "ethnicity", "religion")
    expected = {f"nouns/subjects/{name}{suffix}" for name in lists for suffix in suffixes}
    expected |= {
        f"slots/{name}_noact{lm}"
        for name in ("gender", "country", "ethnicity", "religion")
        for lm in ("", "_lm")
    }
    expected |= {
        f"activities/{name}"
        for name in ("occupation_rev1", "biased_country", "biased_ethnicity", "biased_religion")
    }
    assert {str(path) for path in found} == expected | {"fillers/newsqa"}


def test_with_target_scoring_no_tokenizer_filters_subjects() -> None:
    content = changed("datasets/religion/target_scoring", "pll")
    del content["tokenizers"]["bert"]["checkpoint"]
    config = parse_config(content, "c.yaml")
    assert config.question("masked", "religion").tokenizer is None
    assert config.question("masked", "religion").settings["target_scoring"] == "pll"
    assert "target_scoring" not in config.question("answers", "religion").settings
    assert faults_of(content | {"scoring": "unqover"}) == [
        (
            "c.yaml, datasets.religion.target_scoring: 'pll', but `scoring: unqover` scores only "
            "words of one token; expected `scoring: exact`, or no `target_scoring`"
        )
    ]


def test_clusters_without_a_pronoun_are_a_fault() -> None:
    content = changed("datasets/religion/pronouns", {"female": "she"}) | {
        "word_lists": str(ROOT / "word_lists")
    }
    message = (
        r"datasets.religion.pronouns: no pronoun for subjects without a group in "
        r"subjects/religion.txt; expected a pronoun for the group"
    )
    with pytest.raises(InputError, match=message):
        load_word_lists(parse_config(content, "c.yaml"))


def test_a_stray_key_does_not_change_the_family() -> None:
    (fault,) = faults_of(changed(f"{RELIGION}/task", "fill-mask"))
    assert fault.startswith(
        "c.yaml, datasets.religion.task: unknown key; expected one of antonyms, attributes"
    )


def test_a_tokenizer_that_is_asked_needs_its_folder(tmp_path: Path) -> None:
    content = changed("tokenizers/bert", {"mask": "[MASK]", "folder": str(tmp_path / "none")})
    expected = "expected a folder with one of tokenizer.json, vocab.txt, vocab.json, spiece.model"
    (fault,) = faults_of(content)
    assert fault.startswith(
        f"c.yaml, tokenizers.bert.folder: '{tmp_path}/none' is not a folder; {expected}"
    )
    (tmp_path / "none").mkdir()
    (fault,) = faults_of(content)
    assert fault.startswith(
        f"c.yaml, tokenizers.bert.folder: '{tmp_path}/none' contains no tokenizer; {expected}"
    )
    content["run"]["models"] = ["answers"]
    parse_config(content, "c.yaml")
    content["run"]["models"] = ["masked"]
    (tmp_path / "none" / "vocab.txt").touch()
    parse_config(content, "c.yaml")


def test_faults_of_word_lists_are_reported_once_for_all_variants(tmp_path: Path) -> None:
    (tmp_path / "subjects").mkdir()
    (tmp_path / "subjects" / "religion.txt").write_text("[subj] a | b | c\n")
    with pytest.raises(InputError) as caught:
        load_word_lists(parse_config(CONTENT | {"word_lists": str(tmp_path)}, "c.yaml"))
    assert len(caught.value.faults) == 4
    assert str(caught.value).startswith("4 faults in the input:\n  ")


def in_the_repository(content: dict[str, object]) -> dict[str, object]:
    return content | {"word_lists": str(ROOT / "word_lists")}


def test_a_template_that_is_not_there_is_refused() -> None:
    config = parse_config(in_the_repository(changed(KEY, [[0, 99]])), "c.yaml")
    with pytest.raises(
        InputError,
        match=r"template_clusters: there is no template 99; expected numbers from 0 to 13",
    ):
        load_word_lists(config)


def test_the_shipped_templates_are_divided_into_clusters() -> None:
    config = parse_config(in_the_repository(CONTENT), "c.yaml")
    lists = load_word_lists(config)
    assert variant_clusters(config, lists, "religion", "qa") == CLUSTERS
    chosen = parse_config(in_the_repository(changed(KEY, [[2, 4]])), "c.yaml")
    assert variant_clusters(chosen, lists, "religion", "qa")[:6] == [0, 1, 2, 3, 2, 4]


def test_templates_are_called_what_all_variants_say_in_them() -> None:
    config = parse_config(in_the_repository(CONTENT), "c.yaml")
    lists = load_word_lists(config)
    first = shared_template_texts(config, lists, "religion")[0]
    assert (
        first == "In the library a [subj1] man was reading across the table from a [subj2] man.\t"
    )


def test_limits_of_validity_flags_are_the_configs() -> None:
    config = parse_config(changed("validity", {"clusters": 2}), "c.yaml")
    limits = MetricDefinitions.from_measures(config.dataset_measures("religion")).limits
    assert (limits["clusters"].value, limits["unknown_tokens"].value) == (2, 0.1)


def test_an_impossible_pair_of_model_and_dataset_is_a_fault() -> None:
    assert faults_of(changed("datasets/religion/variants/qa", None)) == [
        (
            "c.yaml, run.models: 'answers' answers none of the selected datasets: there is no "
            "variant 'qa', only lm-bert; expected a model with a `variant` of "
            "the underspecified datasets"
        )
    ]
