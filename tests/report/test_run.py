"""What the report says of where a model is from."""

from biasgrid.base.sections import Model
from biasgrid.config.registry import BUILT_IN
from biasgrid.inference.checkpoints.fetch import make_keys_record
from biasgrid.report.run import source


def model(**keys: object) -> Model:
    section = BUILT_IN.model_section("text-generation")
    return section.model_validate(
        {"task": "text-generation", "kind": "LLM", "label": "A model", **keys}
    )


def test_a_server_is_named_without_what_is_secret() -> None:
    hosted = model(endpoint={"url": "https://user:word@host/v1?code=x", "model": "large"})
    assert source(make_keys_record(hosted.source.deciding_keys())) == "large at https://host/v1"


def test_keys_that_represent_a_model_are_named() -> None:
    chance = model(random={"seed": 1})
    assert source(make_keys_record(chance.source.deciding_keys())) == "random in the config"
