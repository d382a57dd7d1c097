"""What is downloaded of a repository, and what is said where it cannot be."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hub import COMMIT, Hub, Repository, fetch, hub_environment, serve_hub

pytestmark = pytest.mark.slow

Checkpoints = Callable[[str, str], Path]
MODEL_FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def repository(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Repository:
    """A repository that can be changed."""
    return Repository(
        Path(shutil.copytree(tiny_checkpoint("bert", "fill-mask"), tmp_path / "repository"))
    )


@pytest.fixture
def hub(repository: Repository) -> Iterator[Hub]:
    with serve_hub({"tiny/model": repository}) as running:
        yield running


@pytest.fixture
def environment(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return hub.environment(tmp_path / "cache")


def test_only_what_is_needed_is_downloaded_and_only_once(
    hub: Hub, repository: Repository, environment: dict[str, str]
) -> None:
    for name in ("README.md", "pytorch_model.bin", "tf_model.h5", "code.py"):
        (repository.folder / name).write_text("not needed")
    record = fetch(environment, "tiny/model", allow_pickle=True)
    assert (record["requested"], record["revision"]) == ("main", COMMIT)
    assert list(record["files"]) == MODEL_FILES
    assert sorted(request.file for request in hub.downloads()) == MODEL_FILES
    hub.requests.clear()
    again = fetch(environment, "tiny/model", COMMIT, allow_pickle=True)
    assert again == record | {"requested": COMMIT}
    assert not hub.downloads()


def test_the_recipe_of_an_encoder_is_downloaded_from_its_folders(
    hub: Hub, repository: Repository, environment: dict[str, str], tmp_path: Path
) -> None:
    files = ["1_Pooling/config.json", "modules.json"]
    (repository.folder / "1_Pooling").mkdir()
    for name in (*files, "1_Pooling/weights.bin"):
        (repository.folder / name).write_text("{}")
    record = fetch(environment, "tiny/model")
    assert list(record["other_files"]) == files
    assert "1_Pooling/weights.bin" not in [
        request.path.split("/", 4)[-1] for request in hub.downloads()
    ]
    shutil.rmtree(tmp_path / "cache")
    repository.damaged.add("modules.json")
    assert "the download does not match what" in fetch(environment, "tiny/model")["error"]


def test_an_adapter_on_the_hub_is_refused_before_its_weights_are_fetched(
    hub: Hub, repository: Repository, environment: dict[str, str]
) -> None:
    (repository.folder / "adapter_config.json").write_text(
        '{"base_model_name_or_path": "org/base"}'
    )
    (repository.folder / "adapter_model.safetensors").write_text("")
    message = fetch(environment, "tiny/model")["error"]
    assert (
        "tiny/model contains an adapter of "
        "org/base (adapter_config.json, adapter_model.safetensors)"
    ) in message
    assert not [request for request in hub.downloads() if request.file.endswith(".safetensors")]


def test_a_tokenizer_is_downloaded_without_weights(hub: Hub, environment: dict[str, str]) -> None:
    assert fetch(environment, "tiny/model", weights=False)["weights"] is None
    assert not hub.downloads("model.safetensors")


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_content_that_is_not_what_the_hub_says_is_refused_and_not_kept(
    hub: Hub, repository: Repository, environment: dict[str, str], file: str
) -> None:
    repository.damaged.add(file)
    message = fetch(environment, "tiny/model")["error"]
    assert (
        f"tiny/model at revision {COMMIT}: the download does not match what {hub.address} lists"
        in message
    )
    assert f"{file} ({'sha256' if file == 'model.safetensors' else 'git-sha1'} " in message
    assert "It was removed. Run again; if that does not help" in message
    repository.damaged.clear()
    hub.requests.clear()
    assert list(fetch(environment, "tiny/model")["files"]) == MODEL_FILES
    assert [request.file for request in hub.downloads()] == [file]


def test_a_connection_that_breaks_is_taken_up_where_it_broke(
    hub: Hub, repository: Repository, environment: dict[str, str]
) -> None:
    # The library writes what it receives in pieces of 10 MiB.
    (repository.folder / "model.safetensors").write_bytes(bytes(range(256)) * (13 << 12))
    repository.cut["model.safetensors"] = 11 << 20
    assert list(fetch(environment, "tiny/model")["files"]) == MODEL_FILES
    assert [request.range for request in hub.downloads("model.safetensors")] == [
        None,
        f"bytes={10 << 20}-",
    ]


def test_pickled_weights_alone_are_refused_before_they_are_downloaded(
    hub: Hub, repository: Repository, environment: dict[str, str]
) -> None:
    (repository.folder / "model.safetensors").rename(repository.folder / "pytorch_model.bin")
    assert "set `allow_pickle: true` for this model" in fetch(environment, "tiny/model")["error"]
    assert not hub.downloads("pytorch_model.bin")
    assert "pytorch_model.bin" in fetch(environment, "tiny/model", allow_pickle=True)["files"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_repository_is_reported(
    repository: Repository, environment: dict[str, str], status: int
) -> None:
    repository.status, repository.error = status, "GatedRepo"
    message = fetch(environment, "tiny/model")["error"]
    assert (
        "tiny/model at revision main cannot be fetched: the repository is gated; ask for access"
        in message
    )
    assert "`hf auth login`, or set HF_TOKEN" in message


@pytest.mark.parametrize(
    ("checkpoint", "revision", "expected"),
    [
        ("tiny/nothing", "main", "shows no such repository; expected a name such as org/name"),
        (
            "tiny/model",
            "v9",
            "the repository has no such revision; expected one of its commits, tags or branches",
        ),
        (
            "tiny/model/x",
            "main",
            "that is not the name of a repository; expected one such as org/name",
        ),
    ],
)
def test_what_the_hub_does_not_have_is_reported(
    environment: dict[str, str], checkpoint: str, revision: str, expected: str
) -> None:
    message = fetch(environment, checkpoint, revision)["error"]
    assert f"{checkpoint} at revision {revision} cannot be fetched: " in message
    assert expected in message


def test_a_hub_that_is_switched_off_or_cannot_be_reached_is_reported_and_the_cache_is_used(
    repository: Repository, tmp_path: Path
) -> None:
    with serve_hub({"tiny/model": repository}) as hub:
        environment = hub.environment(tmp_path / "cache")
        record = fetch(environment, "tiny/model")
    off = environment | {"HF_HUB_OFFLINE": "1"}
    assert fetch(off, "tiny/model") == record
    message = fetch(off, "tiny/other")["error"]
    assert "it is not in the cache" in message
    assert "and HF_HUB_OFFLINE is set" in message
    # Nothing listens on the port any more.
    message = fetch(hub_environment(hub.address, tmp_path / "cache"), "tiny/other")["error"]
    assert f"{hub.address} cannot be reached" in message
    assert "Connection refused" in message


def test_a_cache_that_cannot_be_written_to_is_reported_with_its_remedy(
    repository: Repository,
) -> None:
    with serve_hub({"tiny/model": repository}) as hub:
        message = fetch(hub_environment(hub.address, Path("/dev/null/cache")), "tiny/model")[
            "error"
        ]
    assert (
        "/dev/null/cache/hub: cannot be written (Not a directory); set HF_HOME to a folder "
        "that can be"
    ) in message
