"""A small server of one file that may not know ranges, and may break off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
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
