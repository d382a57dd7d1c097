"""What the report says of where a model is from."""

from biasgrid.inference.checkpoints.fetch import record_of_keys
from biasgrid.inference.models.generation.sources import GenerativeModel
from biasgrid.report.run import source


def model(**keys: object) -> GenerativeModel:
    return GenerativeModel.model_validate({"task": "text-generation", "kind": "LLM", "label": "A model", **keys})


def test_a_server_is_named_without_what_is_secret() -> None:
    hosted = model(endpoint={"url": "https://user:word@host/v1?code=x", "model": "large"})
    assert source(record_of_keys(hosted.deciding_keys())) == "large at https://host/v1"


def test_keys_that_stand_for_a_model_are_named() -> None:
    chance = model(random={"seed": 1})
    assert source(record_of_keys(chance.deciding_keys())) == "random in the config"
