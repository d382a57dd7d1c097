"""Names that stand for one model are told in one line."""

from typing import Any

import pytest

from biasgrid.stats.compare.comparability import same_models

Facts = dict[str, Any]


def weights(folder: str, digest: str = "1", **more: Any) -> Facts:
    return {"folder": folder, "files": {"x": digest}, "weights": digest, "tokenizer": "t"} | more


def cell(record: Facts | None, **facts: Any) -> Facts:
    made = {
        "task": "fill-mask",
        "instances_sha256": "i",
        "store": str(record),
        "config": "c",
        **facts,
    }
    return {"predictions": made | ({"model": record} if record else {})}


ALIKE = "and are asked alike: they are one model."
CHANCE = cell({"keys": {"random": {"seed": 1}}, "files": {}})


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (cell(weights("a")), cell(weights("b")), f"a and b have the same weights {ALIKE}"),
        (cell(weights("a")), cell(weights("b", "2")), ""),
        (cell(weights("a")), cell(weights("b", tokenizer="u")), ""),
        (cell(weights("a", chat_template="x")), cell(weights("b")), ""),
        (cell(weights("a")), cell(weights("b"), task="text-generation"), ""),
        (
            cell(weights("a"), generation={"seed": 1}, precision="float16"),
            cell(weights("b"), generation={"seed": 2}, precision="float32"),
            "a and b have the same weights; they differ in generation, precision.",
        ),
        (
            cell(weights("a")),
            cell(weights("b"), instances_sha256="j"),
            "a and b have the same weights; they differ in instances.",
        ),
        (CHANCE, CHANCE, f"a and b have the same source {ALIKE}"),
        (CHANCE, cell({"keys": {"random": {"seed": 2}}, "files": {}}), ""),
        (*(cell({"keys": {"answers": "x"}, "files": {"x": digest}}) for digest in "12"), ""),
        (
            cell(None, dump={"sha256": "1", "file": "a"}),
            cell(None, dump={"sha256": "1", "file": "b"}),
            f"a and b have the same dump {ALIKE}",
        ),
        (cell(None), cell(None), ""),
    ],
)
def test_two_names_of_one_model_are_reported(one: Facts, other: Facts, says: str) -> None:
    assert same_models({"jobs/b": other, "jobs/a": one}) == says
    assert same_models({"jobs/a": one}) == ""
    # Models that nothing was asked of both cannot be taken for two.
    assert same_models({"jobs/a": one, "food/b": other}) == ""


def test_several_sets_are_in_one_line() -> None:
    cells = {
        f"jobs/{name}": cell(weights(name, digest))
        for name, digest in zip("abcd", "1122", strict=True)
    }
    told = same_models(cells)
    assert told.count("they are one model.") == 2
    assert "\n" not in told
