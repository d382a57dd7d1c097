"""Small servers: one that speaks what huggingface-hub's downloads need, and one of a file that
breaks off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = sha1(b"a commit").hexdigest()
LATER_COMMIT = sha1(b"a later commit").hexdigest()
LARGE_FILES = (".safetensors", ".bin")


@dataclass
class Repository:
    """A repository with one branch, `main`, and how it fails.

    Attributes:
        folder: the files that it has, at every commit.
        commit: what `main` stands for.
        status: of answers to whoever asks for its files, with `error` as the reason, as for gated
            repositories.
        error: the hub's code for the reason.
        damaged: names of files that are sent with one byte changed.
        cut: by name, after how many bytes the connection breaks when the file is next sent.
        fails_after_cut: whether a file whose sending broke off is not available again for now.
    """

    folder: Path
    commit: str = COMMIT
    status: int = 200
    error: str = ""
    damaged: set[str] = field(default_factory=set)
    cut: dict[str, int] = field(default_factory=dict)
    fails_after_cut: bool = False
    lost: set[str] = field(default_factory=set)

    def tree(self) -> list[dict[str, Any]]:
        """What the hub says of the files: size and digest, large ones being kept outside of git."""
        return [self.entry(file) for file in sorted(self.folder.rglob("*")) if file.is_file()]

    def entry(self, file: Path) -> dict[str, Any]:
        content = file.read_bytes()
        facts = {
            "type": "file",
            "path": file.relative_to(self.folder).as_posix(),
            "size": len(content),
            "oid": blob_digest(content),
        }
        if file.suffix in LARGE_FILES:
            facts["lfs"] = {
                "oid": sha256(content).hexdigest(),
                "size": len(content),
                "pointerSize": 134,
            }
        return facts

    def content(self, file: Path) -> bytes:
        content = file.read_bytes()
        return content[:-1] + bytes([content[-1] ^ 1]) if file.name in self.damaged else content


def blob_digest(content: bytes) -> str:
    """Git's digest of a file."""
    return sha1(f"blob {len(content)}\0".encode() + content).hexdigest()


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    method: str
    path: str
    range: str | None

    @property
    def file(self) -> str:
        return self.path.rsplit("/", 1)[-1]


@dataclass
class Hub:
    """A running server."""

    address: str
    repositories: dict[str, Repository]
    requests: list[Request] = field(default_factory=list)

    def downloads(self, file: str | None = None) -> list[Request]:
        """The requests for the content of files, or of one."""
        return [
            request
            for request in self.requests
            if request.method == "GET"
            and "/resolve/" in request.path
            and file in (None, request.file)
        ]

    def environment(self, cache: Path) -> dict[str, str]:
        """What makes processes take this server for the hub."""
        return hub_environment(self.address, cache)


def hub_environment(address: str, cache: Path) -> dict[str, str]:
    """What makes processes use a hub at an address, with a cache of their own."""
    return {"HF_ENDPOINT": address, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0"}


FETCH = """
import json, sys
from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.fetch import make_record
try:
    print(json.dumps(make_record(**json.loads(sys.argv[1]))))
except UserError as error:
    print(json.dumps({"error": str(error)}))
"""


def fetch(
    environment: dict[str, str], checkpoint: str, revision: str = "main", **choices: Any
) -> dict[str, Any]:
    """Makes the record of a checkpoint in a process of its own, since the hub's address is read at
    the first import.

    Returns:
        The record, or the message under `error`.
    """
    asked = {
        "checkpoint": checkpoint,
        "folder": None,
        "revision": revision,
        "weights": True,
        "allow_pickle": False,
    }
    process = subprocess.run(
        [sys.executable, "-c", FETCH, json.dumps(asked | choices)],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert process.returncode == 0, process.stderr
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


class HubServer(ThreadingHTTPServer):
    """A server of a hub on a local port."""

    def __init__(self, hub: Hub):
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.hub = hub


class HubHandler(BaseHTTPRequestHandler):
    """Answers a request to a hub."""

    server: HubServer

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        """Notes the request, and answers for the repository that its path names."""
        hub = self.server.hub
        path = self.path.split("?")[0].strip("/")
        hub.requests.append(Request(self.command, path, self.headers["Range"]))
        for name, repository in hub.repositories.items():
            if path.startswith(f"api/models/{name}/"):
                return self.answer_api(name, repository, path)
            if path.startswith(f"{name}/resolve/"):
                commit, file = path.removeprefix(f"{name}/resolve/").split("/", 1)
                return self.answer_file(repository, commit, repository.folder / file)
        return self.refuse(404, "RepoNotFound")

    def answer_api(self, name: str, repository: Repository, path: str) -> None:
        """Sends a repository's commit and files, or files alone under `tree`.

        The revision may be `main` or any commit.
        """
        revision = path.split("/")[5]
        if revision != "main" and len(revision) != len(COMMIT):
            return self.refuse(404, "RevisionNotFound")
        facts: Any = repository.tree()
        if "/tree/" not in path:
            facts = {
                "id": name,
                "sha": repository.commit,
                "siblings": [{"rfilename": entry["path"]} for entry in facts],
            }
        return self.send(json.dumps(facts).encode(), {"Content-Type": "application/json"})

    def answer_file(self, repository: Repository, commit: str, file: Path) -> None:
        """Sends a file of a repository, or a part of it if the connection is to break."""
        if repository.status != 200:
            return self.refuse(repository.status, repository.error)
        if not file.exists():
            return self.refuse(404, "EntryNotFound")
        if file.name in repository.lost:
            return self.refuse(503, "")
        facts = repository.entry(file)
        etag = facts.get("lfs", facts)["oid"]
        cut = repository.cut.pop(file.name, None) if self.command == "GET" else None
        if cut is not None and repository.fails_after_cut:
            repository.lost.add(file.name)
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": commit}
        return self.send(repository.content(file), headers, cut)

    def send(self, content: bytes, headers: dict[str, str], cut: int | None = None) -> None:
        """Sends content from the first byte that was asked for, up to where the connection breaks.

        Args:
            content: the whole content.
            headers: headers of the answer.
            cut: the place in the content where the connection breaks; None if it does not.
        """
        start = first_byte(self.headers["Range"])
        if start:
            content_range = f"bytes {start}-{len(content) - 1}/{len(content)}"
            headers = headers | {"Content-Range": content_range}
        self.send_response(206 if start else 200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[start:cut])

    def refuse(self, status: int, error: str) -> None:
        """Sends a status with the hub's code for the reason."""
        self.send_response(status)
        self.send_header("X-Error-Code", error)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Stays quiet."""


def first_byte(requested_range: str | None) -> int:
    """Returns the first byte of a range such as `bytes=100-`; 0 if none was asked for."""
    return int((requested_range or "bytes=0-").removeprefix("bytes=").removesuffix("-"))


@contextmanager
def serve_hub(repositories: dict[str, Repository]) -> Iterator[Hub]:
    """Serves repositories of a hub on a local port."""
    hub = Hub("", repositories)
    server = HubServer(hub)
    hub.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


class FileServer:
    """What is served and what was asked for.

    Attributes:
        content: the file, at `/dump.json`.
        knows_ranges: whether answers may begin in the middle.
        breaks_off_after: for the answers to come, how many bytes each sends before it breaks off.
        statuses: what the answers to come say in place of the file.
        redirects_to: where the path `/elsewhere` leads.
        queries: the query of each request for the file.
        users: what each request for the file says of its user.
        asked_from: the first byte that each request asked for.
        address: where the file is.
    """

    def __init__(self, content: bytes):
        self.content = content
        self.knows_ranges = True
        self.breaks_off_after: list[int] = []
        self.asked_from: list[int] = []
        self.statuses: list[int] = []
        self.redirects_to = ""
        self.queries: list[str] = []
        self.users: list[str | None] = []
        self.address = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path, _, query = handler.path.partition("?")
        if path == "/elsewhere":
            handler.send_response(302)
            handler.send_header("Location", self.redirects_to)
            handler.end_headers()
            return None
        if path != "/dump.json":
            return handler.send_error(404)
        self.queries.append(query)
        self.users.append(handler.headers.get("Authorization"))
        if self.statuses:
            return handler.send_error(self.statuses.pop(0))
        start = first_byte(handler.headers.get("Range"))
        self.asked_from.append(start)
        if start and self.knows_ranges and start >= len(self.content):
            return handler.send_error(416)
        body = self.content[start:] if self.knows_ranges else self.content
        handler.send_response(206 if start and self.knows_ranges else 200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: self.breaks_off_after.pop(0)] if self.breaks_off_after else body)
        return None


@contextmanager
def serve(content: bytes) -> Iterator[FileServer]:
    """Serves a file on a local port."""
    served = FileServer(content)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.answer(self)

        def log_message(self, format: str, *arguments: object) -> None:
            """Stays quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    served.address = f"http://127.0.0.1:{server.server_port}/dump.json"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
