"""How fast a server is asked, and in how much memory: answers arrive in the store of a cell, from a server beside it.

The server is that of the tests, which answers at once. Run `python benchmarks/client.py`; `--requests` and
`--concurrency` change what is asked.
"""

from __future__ import annotations

import argparse
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from biasgrid.inference.models.servers.connection import Access, quiet_libraries
from biasgrid.inference.models.servers.identity import Owner
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
        seconds = asked(f"http://127.0.0.1:{port}/v1", given.requests, given.concurrency)
    finally:
        server.terminate()
        server.wait()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    rate = given.requests / seconds
    print(f"{given.requests} requests, {given.concurrency} at a time: {rate:.0f} requests/s, {memory} MB")


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


def nobody() -> Owner:
    """Whose a store of an earlier version is; there is none here."""
    raise AssertionError


def asked(url: str, count: int, concurrency: int) -> float:
    """Asks, and returns how many seconds that took."""
    quiet_libraries()
    endpoint = Endpoint(url=url, model="small", concurrency=concurrency)
    access = Access(url=url, shown=url, model="small", asking=endpoint)
    requests = [
        Request("small", "", number, [{"role": "user", "content": f"Is {number} a number? Yes or No?"}], PARAMETERS)
        for number in range(count)
    ]
    with tempfile.TemporaryDirectory() as folder, RequestStore(Path(folder), 2**20, nobody) as store:
        before = time.perf_counter()
        Dispatcher(access, store, Budget(None, None)).ask(requests)
        seconds = time.perf_counter() - before
        if store.bill.requests != count:
            raise SystemExit(f"{store.bill.requests} of {count} answers are stored")
    return seconds


if __name__ == "__main__":
    main()
