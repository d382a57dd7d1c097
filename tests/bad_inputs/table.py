"""The corpus of bad inputs: what is wrong, where, and the words that the message must hold.

A row changes one thing of the project in `base`: `at` is a key of the config, or the path of a
file; what is put there is a value, text, bytes, or the result of a function of what stands there.
"""

from __future__ import annotations

import re

from addresses import BEGINS, NO_ADDRESSES
from base import FILLINGS, LISTS
from changes import GONE, Bad, bad, swap
from prompted import PROBES, REWRITTEN

F1 = {"score": "f1", "argument": "macro", "distance": "absolute", "comparison": "pairwise"}
UNKNOWN = [
    bad("titel", "x", "titel: unknown key (did you mean 'title'?); expected one of"),
    bad(
        "inference.precison",
        "float32",
        "inference.precison: unknown key (did you mean 'precision'?)",
    ),
    bad("models.masked.foldr", "x", "models.masked.foldr: unknown key (did you mean 'folder'?)"),
    bad(
        "models.taught.train.synthetc",
        "x",
        "models.taught.train.synthetc: unknown key (did you mean 'synthetic'?)",
    ),
    bad(
        "models.taught.train.hyperparameters.epoch",
        1,
        "epoch: unknown key (did you mean 'epochs'?)",
    ),
    bad(
        "models.published.predictions.people.fil",
        "x",
        "people.fil: unknown key (did you mean 'file'?)",
    ),
    bad(
        "datasets.people.subject",
        "x",
        "datasets.people.subject: unknown key (did you mean 'subjects'?)",
    ),
    bad(
        "datasets.people.limit.template",
        1,
        "limit.template: unknown key (did you mean 'templates'?)",
    ),
    bad("datasets.people.sample.unit", 1, "sample.unit: unknown key (did you mean 'units'?)"),
    bad(
        "datasets.people.variants.qa.template",
        "x",
        "variants.qa.template: unknown key (did you mean 'templates'?)",
    ),
    bad(
        "datasets.moods.label", ["x"], "datasets.moods.label: unknown key (did you mean 'labels'?)"
    ),
    bad("datasets.moods.measures", [{"scor": "f1"}], "scor: unknown key (did you mean 'score'?)"),
    bad("synthetic.strength", {}, "synthetic.strength: unknown key (did you mean 'strengths'?)"),
    bad("tokenizers.tiny.msk", "x", "tokenizers.tiny.msk: unknown key (did you mean 'mask'?)"),
    bad("run.model", ["masked"], "run.model: unknown key (did you mean 'models'?)"),
]
BRACES = [
    bad(
        "word_lists",
        "word{lists}",
        "word_lists: 'word{lists}' contains braces, which Snakemake would take for",
    ),
    bad("models.masked.folder", "models/{x}", "models.masked.folder: 'models/{x}' contains braces"),
    bad(
        "models.published.predictions.people.file",
        "{d}.json",
        "predictions.people.file: '{d}.json' contains braces",
    ),
    bad("report", {"references": ["{x}.json"]}, "report.references[0]: '{x}.json' contains braces"),
    bad(
        "tokenizers.tiny.folder",
        "models/{tiny}",
        "tokenizers.tiny.folder: 'models/{tiny}' contains braces",
    ),
]
"""What Snakemake would take for patterns."""
NAMES = [
    bad(
        "run.models",
        ["maskd"],
        "run.models: unknown name 'maskd' (did you mean 'masked'?); expected one of",
    ),
    bad(
        "run.models",
        ["masked", "masked"],
        "run.models: 'masked' appears twice; expected each name once",
    ),
    bad("run.models", [], "run.models: []; expected 1 or more entries"),
    bad("run.datasets", ["peple"], "run.datasets: unknown name 'peple' (did you mean 'people'?)"),
    bad("run.datasets", ["people", "people"], "run.datasets: 'people' appears twice"),
    bad("run.models", ["moody"], "run.datasets: no selected model answers 'people'"),
    bad(
        "models.masked.task",
        "fill-msk",
        "models.masked.task: 'fill-msk' (did you mean 'fill-mask'?)",
    ),
    bad(
        "models.masked.task",
        "text-to-image",
        "models.masked.task: 'text-to-image'",
        "expected one of",
    ),
    bad(
        "models.masked.variant",
        "lm-tny",
        "models.masked.variant: unknown tokenizer 'tny' (did you mean 'tiny'?)",
    ),
    bad(
        "models.masked.variant", "qa", "models.masked.variant: 'qa' is not for the task 'fill-mask'"
    ),
    bad(
        "models.masked.variant",
        "xx",
        "models.masked.variant: 'xx'; expected `qa`, `lm` or `llm`, or one of",
    ),
    bad(
        "models.answering.variant",
        "qa-newsqa",
        "'answering' answers none",
        "no variant 'qa-newsqa', only lm-tiny",
    ),
    bad(
        "models.answering.label",
        "Masked\u200b",
        "models.answering.label: contains U+200B (ZERO WIDTH SPACE)",
    ),
    bad(
        "models.masked.labels",
        {"bad": "NEG"},
        "models.masked.labels: {'bad': 'NEG'}; expected no `labels`",
    ),
    bad("models.moody.labels", {}, "models.moody.labels: {}; expected the names of the classes"),
    bad("models.moody.labels", {"bad": "NEG"}, "run.datasets: no selected model answers 'moods'"),
    bad(
        "datasets.people.family",
        "underspecifed",
        "family: 'underspecifed' (did you mean 'underspecified'?)",
    ),
    bad(
        "datasets.moods.family",
        GONE,
        "datasets.moods: has title",
        "expected `family: counterfactual` together",
    ),
    bad(
        "datasets.moods.task",
        "fill-mask",
        "datasets.moods.labels",
        "expected no `labels`, because the task is fill-mask",
    ),
    bad("datasets.moods.labels", ["bad"], "moods"),
    bad(
        "datasets.moods.labels",
        ["bad", "bad"],
        "datasets.moods.labels",
        "expected labels that differ from each other",
    ),
    bad(
        "datasets.moods.bias_types",
        ["ages"],
        "has no bias type 'ages' (did you mean 'age'?); expected one of",
    ),
    bad(
        "datasets.moods.bias_types", [], "datasets.moods.bias_types: []; expected 1 or more entries"
    ),
    bad(
        "datasets.moods.measures",
        [{"score": "f2", "distance": "absolute", "comparison": "pairwise"}],
        "f2",
    ),
    bad(
        "datasets.moods.measures",
        [{"score": "f1", "argument": "macro", "distance": "absolut", "comparison": "pairwise"}],
        "absolut",
    ),
    bad(
        "datasets.moods.measures",
        [{"score": "f1", "argument": "macro", "distance": "absolute", "comparison": "pair"}],
        "pair",
    ),
    bad(
        "datasets.moods.failure_threshold",
        1.5,
        "failure_threshold: 1.5; expected a number of at most 1",
    ),
    bad("datasets.people.figures", ["warmth"], "datasets.people.figures: unknown name 'warmth'"),
    bad("datasets.people.target_scoring", "jont", "target_scoring: 'jont' (did you mean 'joint'?)"),
    bad("datasets.people.pronouns", {"x": "she"}, "pronouns: no pronoun for subjects of group 'y'"),
    bad("datasets.people.shards", 0, "datasets.people.shards: 0; expected a number of at least 1"),
    bad(
        "datasets.people.shards",
        1000,
        "datasets.people.shards: 1000; expected a number of at most 256",
    ),
    bad("datasets.people.sample", {"units": 0}, "sample.units: 0; expected a number of at least 1"),
    bad(
        "datasets.people.sample",
        {"share": 1.5},
        "sample.share: 1.5; expected a number of at most 1",
    ),
    bad(
        "datasets.people.sample.units", GONE, "sample: has seed; expected either `units` or `share`"
    ),
    bad(
        "datasets.people.sample.share",
        0.5,
        "sample: has units, seed, share; expected either `units` or `share`",
    ),
    bad("datasets.people.sample.units", 9999, "sample.units: 9,999 units, but there are only"),
    bad(
        "synthetic.spread",
        0.9,
        "synthetic.spread: 0.9; expected at most 0.6: strength 'strong' is 0.4, and the two add "
        "up to at most 1",
    ),
    bad(
        "models.taught.train.synthetic",
        "weak",
        "models.taught.train.synthetic: unknown strength 'weak'",
    ),
    bad(
        "models.taught.train",
        {"base": {"folder": "x"}},
        "expected either `synthetic`, or both `base` and `data`",
    ),
    bad(
        "models.taught.train.dataset", "moods", "models.taught.train.dataset: 'moods', for the task"
    ),
    bad(
        "models.masked.checkpoint",
        "bert",
        "expected exactly one of `checkpoint`, `folder`, `train`, ",
    ),
    bad(
        "models.masked.folder", GONE, "`checkpoint`, `folder`, `train`, `predictions` and `answers`"
    ),
    bad(
        "models.masked.revision",
        "main",
        "expected `revision` together with `checkpoint`, never without it",
    ),
    bad(
        "models.masked.folder",
        "nowhere",
        "models.masked.folder: 'nowhere' is not a folder; expected a folder",
    ),
    bad(
        "models.masked.folder",
        "${A_HOME_OF_TESTS}/tiny",
        "models.masked.folder: '${A_HOME_OF_TESTS}/tiny' contains braces",
        "; expected the path written out, as no variable is filled in here: /srv/models/tiny",
    ),
    bad(
        "models.masked.folder",
        "$A_HOME_OF_TESTS/tiny",
        "is not a folder; expected the path written out, as no variable is filled in here: "
        "/srv/models/tiny",
    ),
    bad("models.masked.folder", "~/no-such/tiny", "/no-such/tiny' is not a folder"),
    bad(
        "models.masked",
        {
            "kind": "LM",
            "task": "fill-mask",
            "label": "M",
            "checkpoint": "https://huggingface.co/org/name",
            "revision": "main",
        },
        "expected the name of a repository on the hub, such as `org/name`, not its address",
    ),
    bad(
        "models.masked.folder",
        "word_lists",
        "models.masked.folder: 'word_lists' contains no config.json",
    ),
    bad(
        "tokenizers.tiny.folder",
        "word_lists",
        "tokenizers.tiny.folder: 'word_lists' contains no tokenizer",
    ),
    bad("tokenizers.tiny.folder", GONE, "tokenizers.tiny: 'tiny' has no `checkpoint` or `folder`"),
    bad(
        "models.published.predictions",
        {"peple": {"file": "dumps/people.json"}},
        "unknown name 'peple'",
    ),
    bad("models.published.predictions.people", {"file": "no.json"}, "there is no file 'no.json'"),
    bad("report", {"references": ["no.json"]}, "report.references[0]: there is no file 'no.json'"),
    bad(
        "models.published.predictions.people",
        {"url": "http://x/y"},
        "expected `sha256` together with `url`",
    ),
    bad(
        "models.published.predictions.people",
        {"url": "ftp://x/y", "sha256": "a" * 64},
        "begins with http:// or https://",
    ),
    bad(
        "models.published.predictions.people",
        {"url": "http://x/y", "sha256": "abc"},
        "64 hexadecimal digits",
    ),
    bad(
        "word_lists",
        "nowhere",
        "word_lists: there is no folder 'nowhere' (looked for in this folder and ",
    ),
    bad(
        "results",
        "a{b}",
        "results: 'a{b}'; expected a folder whose name contains none of { } < > and no",
    ),
    bad(
        "plugins",
        ["no.py"],
        "plugins[0]: 'no.py' does not exist; expected the path of a Python file or package",
    ),
    bad(
        "inference.device",
        "gpu",
        "inference.device: 'gpu' (did you mean 'cpu'?); expected one of auto, cpu, cuda",
    ),
    bad("inference.precision", "half", "inference.precision: 'half'; expected one of auto"),
    bad(
        "scoring",
        "unqovr",
        "scoring: 'unqovr' (did you mean 'unqover'?); expected one of exact, unqover",
    ),
]

TEXT, NUMBER, LIST, MAPPING, SWITCH = "some text", 3, [{"a": 1}], {"a": {"b": 1}}, True
OF_TEXT = (NUMBER, LIST, MAPPING, SWITCH, 0.5)
OF_NUMBER = (TEXT, LIST, MAPPING, SWITCH, None)
OF_LIST = (TEXT, NUMBER, MAPPING, SWITCH)
OF_SECTION = (TEXT, NUMBER, LIST, SWITCH)
KEYS = {
    **dict.fromkeys(
        ("title", "results", "word_lists", "scoring", "inference.device", "inference.precision"),
        OF_TEXT,
    ),
    **dict.fromkeys(("models.masked.task", "models.masked.kind", "models.masked.label"), OF_TEXT),
    **dict.fromkeys(
        ("models.masked.folder", "models.masked.variant", "datasets.people.title"), OF_TEXT
    ),
    **dict.fromkeys(
        ("datasets.people.attributes", "datasets.people.variants.qa.templates"), OF_TEXT
    ),
    **dict.fromkeys(
        ("datasets.moods.templates", "datasets.moods.groups", "datasets.moods.task"), OF_TEXT
    ),
    **dict.fromkeys(
        ("inference.token_budget", "inference.time_limit", "inference.jobs_per_gpu"), OF_NUMBER
    ),
    **dict.fromkeys(("synthetic.repeats", "synthetic.seed", "datasets.people.shards"), OF_NUMBER),
    **dict.fromkeys(
        (
            "datasets.people.sample.units",
            "datasets.moods.top_k",
            "datasets.moods.failure_threshold",
        ),
        OF_NUMBER,
    ),
    **dict.fromkeys(
        ("datasets.people.subjects", "run.models", "run.datasets", "datasets.moods.labels"), OF_LIST
    ),
    **dict.fromkeys(("plugins", "datasets.people.figures", "datasets.moods.measures"), OF_LIST),
    **dict.fromkeys(
        ("inference", "synthetic", "models", "models.masked", "datasets", "datasets.people"),
        OF_SECTION,
    ),
    **dict.fromkeys(
        ("datasets.people.limit", "datasets.people.variants", "datasets.people.variants.qa"),
        OF_SECTION,
    ),
    **dict.fromkeys(("tokenizers", "tokenizers.tiny", "run", "models.taught.train"), OF_SECTION),
}
TYPES = [Bad(key, value, (key.split(".")[-1],)) for key, values in KEYS.items() for value in values]
NEEDED = [
    Bad(key, GONE, (f"{key}: missing; expected the key",))
    for key in (
        "models",
        "datasets",
        "run",
        "run.models",
        "run.datasets",
        "models.masked.task",
        "models.masked.kind",
        "models.masked.label",
        "datasets.people.title",
        "datasets.people.subjects",
        "datasets.people.attributes",
        "datasets.people.variants",
        "datasets.people.variants.qa.templates",
        "datasets.moods.templates",
        "datasets.moods.groups",
        "datasets.moods.task",
        "synthetic.strengths",
        "tokenizers.tiny.mask",
    )
]
HIDDEN = {
    "\x00": "U+0000 (a control character)",
    "\x1b": "U+001B (a control character)",
    "\u00ad": "U+00AD (SOFT HYPHEN)",
    "\u200b": "U+200B (ZERO WIDTH SPACE)",
    "\u200d": "U+200D (ZERO WIDTH JOINER)",
    "\u202e": "U+202E (RIGHT-TO-LEFT OVERRIDE)",
    "\u2066": "U+2066 (LEFT-TO-RIGHT ISOLATE)",
}
FILES = {f"word_lists/{name}": text for name, text in LISTS.items()}
PACK_FILES = {f"word_lists/pack/fillings/{name}": text for name, text in FILLINGS.items()}
UNSEEN = [
    *(
        Bad(file, text[:-1] + character + "\n", (file.split("/")[-1], "line", f"contains {name}"))
        for file, text in {**FILES, **PACK_FILES}.items()
        for character, name in HIDDEN.items()
    ),
    *(
        bad("title", f"Sma{character}ll", f"title: contains {name}")
        for character, name in HIDDEN.items()
    ),
    bad(
        "word_lists/pack/groups.json",
        swap("kid", "k\\u200bid"),
        "groups.json, age.young[0]: contains U+200B",
    ),
    bad(
        "word_lists/pack/groups.json",
        swap('"young"', '"yo\\u00adung"'),
        "contains U+00AD (SOFT HYPHEN)",
    ),
    bad(
        "word_lists/pack/templates.json",
        swap("likes", "li\\u0000kes"),
        "templates[0].text: contains U+0000",
    ),
]
BYTES = [
    *(
        Bad(file, b"\xff\xfe" + text.encode(), ("byte 1 is not UTF-8",))
        for file, text in {**FILES, **PACK_FILES}.items()
    ),
    *(Bad(file, b"", (file.split("/")[-1],)) for file in FILES),
    bad("config.yaml", b"a: [", "not YAML"),
    bad(
        "config.yaml",
        "title: Sma\u200bll\n".encode(),
        "config.yaml, line 1: contains U+200B (ZERO WIDTH SPACE)",
    ),
    bad("config.yaml", b"- a\n", "not a mapping; expected keys such as models"),
    bad("config.yaml", b"\xff", "byte 1 is not UTF-8"),
    bad("config.yaml", b"", "not a mapping"),
    bad("config.yaml", b"title: x\ntitle: y\n", "line 2: the key 'title' is already in line 1"),
    bad("config.yaml", b"a: &a [*a]\n", "an alias that refers to itself"),
    bad("config.yaml", b"title: 2020-13-45\n", "contains an invalid date"),
    bad(
        "config.yaml",
        b"a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (n + 1, n + 1, b", ".join([b"*%c" % n] * 10))
            for n in range(97, 106)
        ),
        "its aliases expand to more than 100,000 values",
    ),
    bad("word_lists/pack/groups.json", b"[" * 30000, "nested too deeply"),
    bad(
        "word_lists/pack/groups.json",
        b'{"a": ' + b"9" * 5000 + b"}",
        "an integer with thousands of digits",
    ),
    bad("word_lists/pack/groups.json", b'{"age": "\\ud800"}', "half a character"),
    bad("word_lists/pack/groups.json", b"{}", "no bias types; expected at least one bias type"),
    bad("word_lists/pack/groups.json", b"[]", "contains a list"),
    bad("word_lists/pack/groups.json", b"{", "not JSON"),
    bad("word_lists/pack/templates.json", b"{", "not JSON"),
]
FORMS = [
    bad(
        "word_lists/subjects/people.txt",
        swap("Eve", "Bea"),
        "line 3: subject 'Bea' is already in line 2",
    ),
    bad(
        "word_lists/subjects/people.txt",
        swap("Eve", "bea"),
        "'bea' differs from 'Bea' in line 2 only in case or normal form",
    ),
    bad(
        "word_lists/subjects/people.txt",
        "[subj] x | Zo\u00eb\n[subj] y | Zoe\u0308\n",
        "line 2: subject 'Zoe\u0308' differs from 'Zo\u00eb' in line 1 only in case or normal "
        "form; expected each subject once",
    ),
    bad(
        "word_lists/subjects/people.txt",
        "[subj] x | Ann\n",
        "only one subject; expected at least 2",
    ),
    bad(
        "word_lists/subjects/people.txt",
        "subj Ann\nsubj Bea\n",
        "line 1: begins with 'subj' (the first of 2 such lines); expected a head such as [subj]",
        "as in `[subj] Ann`",
    ),
    bad(
        "word_lists/subjects/people.txt",
        swap("x | Ann", "x | y | Ann"),
        "'Ann' is no frequency; expected a number",
    ),
    bad(
        "word_lists/subjects/people.txt",
        swap("x | Ann", "x | Ann | 5"),
        "line 2: has no frequency, unlike other [subj] lines",
    ),
    bad(
        "word_lists/subjects/people.txt",
        swap("x | Ann", "Ann"),
        "line 1: no group, unlike other [subj] lines",
    ),
    bad(
        "word_lists/subjects/people.txt",
        swap("Ann", "Ann  Lee"),
        "white space in 'Ann  Lee'; expected a single space",
    ),
    bad("word_lists/subjects/people.txt", swap("Ann", "A" * 2**20 + "  B"), "white space in"),
    bad("word_lists/subjects/people.txt", swap("Ann", "[name]"), "placeholder [name] in '[name]'"),
    bad(
        "word_lists/attributes/people.txt",
        swap("[act:neg] a | never cooks\n", ""),
        "columns of different lengths",
    ),
    bad("word_lists/attributes/people.txt", swap("never cooks", "cooks"), "expected its negation"),
    bad(
        "word_lists/attributes/people.txt",
        swap("sings", "cooks"),
        "attribute 'cooks' is already in line 1",
    ),
    bad(
        "word_lists/attributes/people.txt",
        swap("sings", "Cooks"),
        "'Cooks' differs from 'cooks' in line 1 only in case",
    ),
    bad("word_lists/attributes/people.txt", swap("cooks", "cooks."), "ends with a full stop"),
    bad(
        "word_lists/templates/people-qa.txt",
        "[subj1] met [subj2]. Who [act]?\n",
        "1 tab-separated fields; expected 3",
    ),
    bad("word_lists/templates/people-qa.txt", swap("[subj2]", "Bea"), "people-qa.txt, line 1"),
    bad("word_lists/templates/people-qa.txt", swap("[act]", "[deed]"), "[deed]"),
    bad("word_lists/templates/people-lm.txt", swap("[mask]", "it"), "people-lm.txt, line 1"),
    bad(
        "word_lists/stereotypes/people.txt",
        swap("cooks", "coks"),
        "line 1: unknown attribute 'coks' (did you mean 'co",
    ),
    bad(
        "word_lists/stereotypes/people.txt",
        swap("| y", "| z"),
        "line 2: unknown group 'z'",
        "a group of the subjects in the dataset",
    ),
    bad(
        "word_lists/stereotypes/people.txt",
        swap("sings", "cooks"),
        "line 2: attribute 'cooks' is already in line 1",
    ),
    bad(
        "word_lists/stereotypes/people.txt",
        swap(" |", ""),
        "line 1: 'cooks x'; expected an attribute and the group",
    ),
    bad("datasets.people.stereotypes", "stereotypes/none.txt", "none.txt: cannot be read"),
    bad("word_lists/fillers/people.txt", "One.\nTwo.\n", "2 lines; expected exactly one line"),
    bad(
        "word_lists/pack/groups.json",
        swap('"teen"', '"kid"'),
        '"kid" appears 2 times; expected each term once',
    ),
    bad(
        "word_lists/pack/groups.json",
        swap('"teen"', '"Kid"'),
        'the term "Kid" differs from "kid" only in case or normal form',
    ),
    bad(
        "word_lists/pack/groups.json",
        swap('"elder"', '"kid"'),
        'the term "kid" is already in the group "young"',
    ),
    bad(
        "word_lists/pack/groups.json",
        swap('"old"', '"Young"'),
        'the group "Young" differs from "young" only in case',
    ),
    bad("word_lists/pack/groups.json", swap('"old"', '"young"'), 'the key "young" appears twice'),
    bad("word_lists/pack/groups.json", swap('"elder"', '""'), 'the term "" is blank'),
    bad(
        "word_lists/pack/groups.json",
        swap('"elder"', "5"),
        "is an integer; expected an identity term",
    ),
    bad("word_lists/pack/groups.json", swap('"elder"', '"a & b"'), "contains & as a word"),
    bad("word_lists/pack/templates.json", swap("<food>", "<drink>"), "<drink>"),
    bad("word_lists/pack/templates.json", swap('"label": 1', '"label": 7'), "has the class 7"),
    bad("word_lists/pack/templates.json", swap('"label": 1', '"label": "x"'), "templates.json"),
    bad("word_lists/pack/templates.json", swap("The <group> likes", "He likes"), "templates.json"),
    bad("word_lists/pack/fillings/food.txt", "\n", "food"),
]
ENDPOINT = {
    "kind": "LM",
    "task": "text-generation",
    "label": "E",
    "endpoint": {"url": "https://host/v1", "model": "x"},
}
MULTI = b'{"id2label": {"0": "NEG", "1": "POS"}, "problem_type": "multi_label_classification"}'
QUANTISED = (
    b'{"id2label": {"0": "NEG", "1": "POS"}, "quantization_config": {"quant_method": "gptq"}}'
)
DAMAGED = "contains a model.safetensors that is damaged or incomplete"
CHECKPOINTS = [
    bad(
        "models/tiny/config.json",
        b"{",
        "'models/tiny' contains a file that cannot be read (models/tiny: config.json is",
    ),
    bad("models/tiny/model.safetensors", b"", DAMAGED),
    bad(
        "models/tiny/adapter_config.json",
        b'{"base_model_name_or_path": "org/base"}',
        "'models/tiny' contains an adapter of org/base (adapter_config.json), which is not "
        "applied; expected a single",
    ),
    bad(
        "models/tiny/adapter_model.safetensors",
        b"",
        "contains an adapter (adapter_model.safetensors)",
        "merge_and_unload",
    ),
    bad("models/tiny/adapter_config.json", b"{", "adapter_config.json is not JSON"),
    bad(
        "models/tiny/hf_quant_config.json",
        b"{}",
        "contains weights that are quantised (hf_quant_config.json)",
    ),
    bad(
        "models/tiny/config.json",
        QUANTISED,
        "weights that are quantised (quantization_config, gptq)",
    ),
    bad(
        "models/tiny/config.json",
        MULTI,
        "models.moody.folder",
        "can give a text any number of its classes",
    ),
    bad(
        "models.chance.date",
        "tomorrow",
        "models.chance.date: 'tomorrow'; expected a day such as 2024-07-26",
    ),
    bad(
        "models.chance.date",
        "2025-01-01",
        "models.chance: has",
        "expected `date` only for a model whose prompts",
    ),
    bad(
        "models.chance",
        ENDPOINT | {"endpoint": {"url": "https://huggingface.co/org/name", "model": "name"}},
        "for a page of the hub, `checkpoint: org/name` and `revision` in place of `endpoint`",
    ),
    bad("models.chance", ENDPOINT | {"chat_template": False}, "expected `api: completions`, which"),
    bad(
        "models.chance.generation",
        {"thinking": "yes"},
        "thinking: 'yes'; expected true, false, or the keys begin",
    ),
    bad(
        "models.chance.generation",
        {"thinking": {"begin": "<a>"}},
        "generation.thinking.end: missing",
    ),
    bad(
        "models.chance.generation",
        {"thinking": {"begin": "<a>", "end": " "}},
        "generation.thinking.end: ' '",
    ),
    bad(
        "models.chance.generation",
        {"thinking": {"begin": "[/a]x", "end": "[/a]"}},
        "expected an `end` that is not",
    ),
    bad("models/tiny/model.safetensors", b"\x08\0\0\0\0\0\0\0{}", DAMAGED),
    bad("models/tiny/model.safetensors", b"\xff" * 40, DAMAGED),
    bad(
        "models.moody.labels",
        {"bad": "NEG", "good": "GOOD"},
        "of the classes ['NEG', 'POS'], not ['NEG', 'GOOD']",
    ),
    bad(
        "models/tiny/config.json",
        b"{}",
        "models.moody.folder",
        "classes ['LABEL_0', 'LABEL_1'], not ['NEG', 'POS']",
    ),
]
ADDRESSED = [
    bad("models.published.predictions.people", {"url": address, "sha256": "a" * 64}, BEGINS)
    for address in NO_ADDRESSES
]
CAFE, CAFE_APART = "caf\u00e9", "cafe\u0301"
SIMILAR_NAMES = [
    bad(
        "datasets.moods.labels",
        ["bad", "Bad"],
        "datasets.moods.labels",
        ("expected labels that differ from each other"),
    ),
    bad(
        "synthetic.strengths",
        {"strong": 0.4, "Strong": 0.2},
        "synthetic.strengths.Strong: differs from 'strong'",
    ),
    bad(
        "word_lists/pack/fillings/food.txt",
        f"{CAFE}\n{CAFE_APART}\n",
        "food.txt, line 2",
        (
            "in a different Unicode normal form; expected each filling of 'food' once, or all in "
            "the normal"
        ),
    ),
    bad(
        "word_lists/subjects/people.txt",
        swap("[subj] y | Eve", "[subj] Y | Eve"),
        "line 3: the group 'Y' differs",
    ),
]


def exchanged(text: str) -> str:
    """Exchanges the subjects in the keys of a dump."""
    return re.sub(r"\|(Ann|Bea)\|(Ann|Bea)\|", r"|\2|\1|", text)


MASKS = [
    bad(
        "tokenizers.tiny.mask",
        "<msk>",
        "tokenizers.tiny.mask: '<msk>' is not the mask token of the tokenizer in",
    )
]
REFERENCES = [
    bad("report", {"references": ["models/tiny/vocab.txt"]}, "models/tiny/vocab.txt", "; expected")
]
DUMP, KEY = "dumps/people.json", "None|None|Bea|Ann|0|"
DUMPED = [
    bad(DUMP, b"{}", "dumps/people.json: no entries; expected at least one swap group"),
    bad(
        DUMP,
        swap(KEY, "None|None|Eve|Ann|0|"),
        "dumps/people.json, line 1: the entry appears 1 times and, with its",
    ),
    bad(
        DUMP,
        exchanged,
        "dumps/people.json, line 1: the key names 'bea', but the answer is 'ann'; "
        "expected the subject",
    ),
    bad(
        DUMP,
        lambda text: text.replace("|Bea|", "|Eve|"),
        "a key names 'Eve', but the answer is 'Bea'; expected",
    ),
    bad(DUMP, lambda text: text[: len(text) // 2], "the file ends too early"),
    bad(DUMP, swap("Ann", "Carl"), "dumps/people.json, line 1"),
    bad(
        "models.published.predictions.people.sha256",
        "a" * 64,
        "expected aaaaaaaaaaaa",
        "as in the config",
    ),
    bad("models.published.task", "fill-mask", "published"),
]
TABLE = [
    *PROBES,
    *REWRITTEN,
    *BRACES,
    *REFERENCES,
    *MASKS,
    *SIMILAR_NAMES,
    *DUMPED,
    *CHECKPOINTS,
    *ADDRESSED,
    *UNKNOWN,
    *NAMES,
    *TYPES,
    *NEEDED,
    *UNSEEN,
    *BYTES,
    *FORMS,
]
