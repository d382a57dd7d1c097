"""How fast a server is asked, and in how much memory: answers arrive in the store of a cell, from a
server beside it.

The server is that of the tests, which answers at once. Run `python benchmarks/client.py`;
`--requests` and `--concurrency` change what is asked.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from stopwatch import peak_mb, print_table

from biasgrid.inference.models.servers.connection import Access, quiet_libraries
from biasgrid.inference.models.servers.queue import Dispatcher
from biasgrid.inference.models.servers.requests import Request
from biasgrid.inference.models.servers.section import Endpoint
from biasgrid.inference.models.servers.store import RequestStore
from biasgrid.inference.models.servers.usage import Budget

SERVER = Path(__file__).parents[1] / "tests/helpers/model_server.py"
PARAMETERS = {"max_tokens": 200, "temperature": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=64)
    given = parser.parse_args()
    port = free_port()
    server = subprocess.Popen([sys.executable, str(SERVER), str(port)])
    try:
        wait_for(port)
        seconds, processor = asked(f"http://127.0.0.1:{port}/v1", given.requests, given.concurrency)
    finally:
        server.terminate()
        server.wait()
    header = [
        "requests",
        "at a time",
        "requests/s by the clock",
        "milliseconds of the processor a request",
        "peak MB",
    ]
    rates = [f"{given.requests / seconds:.0f}", f"{1e3 * processor / given.requests:.1f}"]
    print_table(
        header, [[f"{given.requests:,}", f"{given.concurrency}", *rates, f"{peak_mb():.0f}"]]
    )


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def wait_for(port: int) -> None:
    for _ in range(300):
        try:
            urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
        except (URLError, OSError):
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the server does not answer")


def asked(url: str, count: int, concurrency: int) -> tuple[float, float]:
    """Asks, and returns how many seconds that took, by the clock and of the processor."""
    quiet_libraries()
    endpoint = Endpoint(url=url, model="small", concurrency=concurrency)
    access = Access(url=url, public_url=url, model="small", server_settings=endpoint)
    requests = [
        Request(
            "small",
            "",
            number,
            [{"role": "user", "content": f"Is {number} a number? Yes or No?"}],
            PARAMETERS,
        )
        for number in range(count)
    ]
    with tempfile.TemporaryDirectory() as folder, RequestStore(Path(folder), 2**20) as store:
        before, processor = time.perf_counter(), time.process_time()
        steps = Dispatcher(access, store, Budget(None, None)).ask(requests, lambda *_: None)
        deque(steps, maxlen=0)
        taken = time.perf_counter() - before, time.process_time() - processor
        if store.bill.requests != count:
            raise SystemExit(f"{store.bill.requests} of {count} answers are stored")
    return taken


if __name__ == "__main__":
    main()
