"""Bad addresses of dumps: what is asked for, what the server does, and the words that the message
must hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

CONTENT = b"{}"
DIGEST = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


class BadAddress(NamedTuple):
    """A bad address, or a server that does not give what is there.

    Attributes:
        address: what is asked for; SERVER stands for the server's address.
        does: attributes of the server.
        says: what the message must hold.
    """

    address: str
    does: dict[str, Any]
    says: tuple[str, ...]


def bad(address: str, *says: str, **does: Any) -> BadAddress:
    return BadAddress(address, does, says)


DUMP, ELSEWHERE = "SERVER/dump.json", "SERVER/elsewhere"
REACHED = (
    "expected a server that this machine can reach; otherwise get the file yourself and set "
    "`file` instead of `url`"
)
ADDRESSES = [
    bad("SERVER/none.json", "the server says 404 Not Found; expected the dump"),
    *(
        bad(DUMP, f"the server says {status}", "expected the dump", statuses=[status])
        for status in (400, 401, 403, 405, 410, 451)
    ),
    *(
        bad(
            DUMP,
            f"the server says {status}",
            "5 times; run again to continue",
            REACHED,
            statuses=[status] * 5,
        )
        for status in (429, 500, 502, 503, 504)
    ),
    bad(
        ELSEWHERE,
        "the server redirects from http to ftp (ftp://host/x)",
        redirects_to="ftp://host/x?token=pass",
    ),
    *(
        bad(ELSEWHERE, "the server says 302", "is not allowed", redirects_to=to)
        for to in ("file:///etc/x", "data:,x")
    ),
    bad(ELSEWHERE, "is not an address", redirects_to="http://[::1/x"),
    bad(ELSEWHERE, "the server says 302", "infinite loop", redirects_to="/elsewhere"),
    bad(ELSEWHERE, "cannot be reached", "refused", redirects_to="http://127.0.0.1:9/x"),
    bad(ELSEWHERE, "the server says 404 Not Found", redirects_to="/none.json"),
    bad(DUMP, f"sha256 is {DIGEST} (the download was removed)", "as in the config"),
    bad("http://127.0.0.1:9/x", "cannot be reached", "refused", "5 times", REACHED),
    bad("https://127.0.0.1:9/x", "cannot be reached", "refused", REACHED),
    bad("http://127.0.0.1:0/x", "cannot be reached", REACHED),
    bad("http://127.0.0.1:99999/x", "cannot be reached", REACHED),
    bad("http://nobody.invalid/x", "cannot be reached", REACHED),
    bad("http://user:pass@127.0.0.1:9/x?token=pass", "http://127.0.0.1:9/x: cannot be reached"),
    bad("http://user:pass@/x", "cannot be reached"),
    bad("http://[::1/x", "is not an address", "expected an address such as https://host/file"),
    bad("http://[zz]/x", "is not an address"),
    bad("http://h\u00e9/d\u00e9", "is not an address"),
    bad("http://127.0.0.1/d\u00e9", "is not an address"),
    bad("http://.host/x", "is not an address"),
    bad("http://host..x/y", "is not an address"),
    bad(
        "SERVER/${NO_SUCH_TOKEN}",
        "the environment variable NO_SUCH_TOKEN is not set; expected a value",
    ),
]
BEGINS = (
    "expected an address that begins with http:// or https:// and a host such as example.org, "
    "without white space"
)
NO_ADDRESSES = [
    "",
    "x",
    "http:",
    "http://",
    "http:///x",
    "//host/x",
    "https:/x",
    "HTTP://host/x",
    "ftp://host/x",
    "data:,x",
    "file:///etc/passwd",
    "http://[::1/x",
    "http://[zz]/x",
    "http://h\u00e9/x",
    "http://host:abc/x",
    "http://.host/x",
    "http://host..x/y",
    "http://%zz/x",
    "http://ho st/x",
    "http://host/a b",
    "http://host/\n",
    "http://user:pass@/x",
]
"""What the config refuses before anything is asked for."""
