"""Downloads of dumps: whole or not at all, and continued where they were."""

from collections.abc import Iterator
from hashlib import sha256
from http.client import HTTPMessage
from io import BytesIO
from pathlib import Path
from urllib.request import Request

import pytest
from hub import FileServer, serve

from biasgrid.base.addresses import address_digest, public_address
from biasgrid.base.faults import InputError
from biasgrid.formats.unqover.download import ATTEMPTS, CarefulRedirects, download_dump

CONTENT = bytes(range(256)) * 12000
DIGEST = sha256(CONTENT).hexdigest()


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve(CONTENT) as served:
        yield served


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks busy servers again at once."""
    monkeypatch.setattr("biasgrid.formats.unqover.download.WAITS", ())


def files_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_arrives_whole_and_leaves_nothing_next_to_it(
    server: FileServer, tmp_path: Path
) -> None:
    out = tmp_path / "dumps" / "dump.json"
    download_dump(server.address, DIGEST, out)
    assert out.read_bytes() == CONTENT
    assert files_in(out.parent) == ["dump.json"]


def test_an_interrupted_transfer_goes_on_where_it_was(server: FileServer, tmp_path: Path) -> None:
    server.breaks_off_after = [1_500_000, 1_000_000]
    download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT
    assert server.asked_from == [0, 1_500_000, 2_500_000]


def test_a_server_without_ranges_sends_everything_again(server: FileServer, tmp_path: Path) -> None:
    server.knows_ranges = False
    server.breaks_off_after = [1_500_000]
    download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT
    assert server.asked_from == [0, 1_500_000]


def test_a_later_call_goes_on_where_a_hopeless_one_gave_up(
    server: FileServer, tmp_path: Path
) -> None:
    server.breaks_off_after = [500_000] * ATTEMPTS
    with pytest.raises(
        InputError,
        match=rf"interrupted at byte {500_000 * ATTEMPTS} .*, {ATTEMPTS} times; run again",
    ):
        download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert not (tmp_path / "dump.json").exists()
    download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT
    assert server.asked_from[-1] == 500_000 * ATTEMPTS


def test_parts_of_another_dump_are_not_continued(server: FileServer, tmp_path: Path) -> None:
    server.breaks_off_after = [1000] * ATTEMPTS
    with pytest.raises(InputError):
        download_dump(server.address, "0" * 64, tmp_path / "dump.json")
    download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert server.asked_from[-1] == 0


def test_another_digest_is_named_and_nothing_is_kept(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"dump.json: sha256 is {DIGEST} .*; expected {'a' * 64}"):
        download_dump(server.address, "a" * 64, tmp_path / "dump.json")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(("surplus", "fails"), [(b"", False), (b"x", True)])
def test_a_download_that_was_complete_is_judged_by_its_digest(
    server: FileServer, tmp_path: Path, surplus: bytes, fails: bool
) -> None:
    server.breaks_off_after = [1000] * ATTEMPTS
    with pytest.raises(InputError):
        download_dump(server.address, DIGEST, tmp_path / "dump.json")
    (partial,) = tmp_path.iterdir()
    partial.write_bytes(CONTENT + surplus)
    if fails:
        with pytest.raises(InputError, match="sha256 is"):
            download_dump(server.address, DIGEST, tmp_path / "dump.json")
    download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT


def test_a_missing_file_is_distinguished_from_an_unreachable_server(
    server: FileServer, tmp_path: Path
) -> None:
    with pytest.raises(
        InputError, match=r"other.json: the server says 404 Not Found; expected the dump"
    ):
        download_dump(server.address.replace("dump", "other"), DIGEST, tmp_path / "dump.json")
    with pytest.raises(
        InputError, match=r"cannot be reached \(.*refused.*\), 5 times; .* expected a server"
    ):
        download_dump("http://127.0.0.1:9/dump.json", DIGEST, tmp_path / "dump.json")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: FileServer, tmp_path: Path, status: int) -> None:
    server.statuses = [status] * (ATTEMPTS - 1)
    download_dump(server.address, DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT


def test_a_server_that_stays_busy_is_reported_with_its_answer(
    server: FileServer, tmp_path: Path
) -> None:
    server.statuses = [503] * ATTEMPTS
    with pytest.raises(
        InputError, match=rf"the server says 503 Service Unavailable, {ATTEMPTS} times; run again"
    ):
        download_dump(server.address, DIGEST, tmp_path / "dump.json")


def test_secrets_come_from_the_environment_and_are_in_no_message(
    server: FileServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    address = server.address.replace("http://", "http://user:password@") + "?token=${A_TOKEN}"
    with pytest.raises(
        InputError,
        match=(
            r"the environment variable A_TOKEN is not set; expected a value: run `export "
            r"A_TOKEN=...` in this shell first"
        ),
    ):
        download_dump(address, DIGEST, tmp_path / "dump.json")
    monkeypatch.setenv("A_TOKEN", "s3cret")
    caplog.set_level("INFO")
    server.statuses = [503]
    with pytest.raises(InputError) as refused:
        download_dump(address.replace("user:password@", ""), "a" * 64, tmp_path / "dump.json")
    assert server.queries == ["token=s3cret", "token=s3cret"]
    told = caplog.text + str(refused.value)
    assert "dump.json" in told
    assert not any(secret in told for secret in ("s3cret", "password", "token"))


def test_users_and_passwords_are_sent_to_the_server_alone_that_they_are_for(
    server: FileServer, tmp_path: Path
) -> None:
    server.redirects_to = server.address
    for path in ("dump.json", "elsewhere"):
        address = server.address.replace("http://", "http://user:p%40ss@").replace(
            "dump.json", path
        )
        download_dump(address, DIGEST, tmp_path / path)
        assert (tmp_path / path).read_bytes() == CONTENT
    # Of base64, `user:p@ss`.
    assert server.users == ["Basic dXNlcjpwQHNz", None]


@pytest.mark.parametrize("target", ["ftp://host/x", "file:///etc/passwd"])
def test_redirects_stay_within_http(server: FileServer, tmp_path: Path, target: str) -> None:
    server.redirects_to = target
    with pytest.raises(InputError, match=r"(?i)redirect"):
        download_dump(
            server.address.replace("dump.json", "elsewhere"), DIGEST, tmp_path / "dump.json"
        )


def test_a_redirect_to_the_file_is_followed(server: FileServer, tmp_path: Path) -> None:
    server.redirects_to = server.address
    download_dump(server.address.replace("dump.json", "elsewhere"), DIGEST, tmp_path / "dump.json")
    assert (tmp_path / "dump.json").read_bytes() == CONTENT


def test_no_redirect_leads_from_https_to_http() -> None:
    with pytest.raises(InputError, match="redirects from https to http"):
        CarefulRedirects().redirect_request(
            Request("https://host/x"), BytesIO(), 302, "", HTTPMessage(), "http://host/y"
        )


@pytest.mark.parametrize("address", ["http://[::1/dump.json", "http://h\u00e9/d\u00e9?\u00e9"])
def test_an_address_that_is_none_is_one_message(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match=r"is not an address|cannot be reached"):
        download_dump(address, DIGEST, tmp_path / "dump.json")


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("https://user:pass@host:8080/a/b.json?token=x#y", "https://host:8080/a/b.json"),
        ("https://host/a", "https://host/a"),
        ("https://user@host/a?b", "https://host/a"),
    ],
)
def test_what_is_written_of_an_address_holds_no_secrets(address: str, written: str) -> None:
    assert public_address(address) == written
    assert address_digest(address) != address_digest(address + "x")
