"""A small server that speaks what huggingface-hub's downloads need: facts of a repository, and its files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = sha1(b"the only commit").hexdigest()


def api_facts(path: str, name: str, folder: Path) -> object:
    """What the hub's API says of a repository: its files under `tree`, else its commit; None for other paths."""
    files = sorted(folder.iterdir())
    if path.startswith(f"api/models/{name}/tree/"):
        return [
            {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": sha1(file.read_bytes()).hexdigest()}
            for file in files
        ]
    if path.startswith(f"api/models/{name}/"):
        return {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file.name} for file in files]}
    return None


@contextmanager
def serve_hub(repositories: dict[str, Path]) -> Iterator[str]:
    """Serves folders as repositories of a hub on a local port; gives the address for HF_ENDPOINT."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer(with_body=False)

        def do_GET(self) -> None:
            self.answer(with_body=True)

        def answer(self, with_body: bool) -> None:
            path = self.path.split("?")[0].strip("/")
            for name, folder in repositories.items():
                facts = api_facts(path, name, folder)
                if facts is not None:
                    return self.send(json.dumps(facts).encode(), with_body, {"Content-Type": "application/json"})
                file = folder / path.rsplit("/", 1)[-1]
                if path.startswith(f"{name}/resolve/") and file.exists():
                    content = file.read_bytes()
                    headers = {"ETag": f'"{sha1(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
                    return self.send(content, with_body, headers)
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound" if path.startswith("api/") else "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None

        def send(self, content: bytes, with_body: bool, headers: dict[str, str]) -> None:
            self.send_response(200)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if with_body:
                self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Stays quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
