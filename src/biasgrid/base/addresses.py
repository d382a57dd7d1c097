"""Addresses of servers: their secrets, which no message shows, and the proxies through which they
are reached.
"""

from __future__ import annotations

import os
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from biasgrid.base.faults import Fault, InputError

VARIABLE_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
STARS = "***"
FEWEST_CHARACTERS = 6
"""The fewest characters of a secret: shorter ones, such as `EMPTY` for a server of one's own, are
plain words.
"""
BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=%")
ESCAPES = {
    '"': r'\\"|&quot;',
    "\\": r"\\\\",
    "/": r"\\/",
    " ": r"\+",
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}
ESCAPES |= {
    character: rf"\\{letter}" for character, letter in zip("\b\f\n\r\t", "bfnrt", strict=True)
}
"""How else JSON, addresses and HTML write a character."""

HOST_PATTERN = re.compile(r"[\w.:-]+")
PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443}
HUB_PAGE = re.compile(
    r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/"
    r"(?!api/|datasets/|spaces/|docs/)([\w.-]+(?:/[\w.-]+)?)(?:[/?#].*)?"
)
"""The address of a model's page on the hub; the group is the name of its repository."""
WITHOUT_SCHEME = re.compile(
    r"(?:localhost|[\w.-]+(?=:\d)|[\w-]+(?:\.[\w-]+)+(?=/(?:[\w/-]*/)?v\d))(?::\d{1,5})?(?:/\S*)?"
)
"""What can only be an address without its beginning: it has a port, or a path with a version."""


def public_address(address: str) -> str:
    """Returns an address without user, password and query, for messages and files."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def page_of_hub(text: str) -> str | None:
    """Returns the repository, such as `org/name`, whose page on the hub a text is the address of;
    None for any other text.
    """
    page = HUB_PAGE.fullmatch(text)
    return page[1] if page else None


def whole_address(text: str) -> str | None:
    """Returns the address of a server whose `http://` or `https://` is missing in a text; None if
    the text is no such address.
    """
    if not WITHOUT_SCHEME.fullmatch(text):
        return None
    host = urlsplit(f"//{text}").hostname or ""
    # Who serves on a numbered address or on this machine mostly has no certificate.
    is_plain = is_this_machine(host) or host.replace(".", "").isdigit()
    return f"{'http' if is_plain else 'https'}://{text}"


def canonical_address(address: str) -> str:
    """Returns scheme, host, port and path of an address in one spelling.

    User, password and query are left out, as is a port that the scheme implies.

    Raises:
        InputError: it is no address.
    """
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").rstrip("."), parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        raise InputError(
            [Fault(public_address(address), "", "is not an address", "one such as https://host/v1")]
        ) from None
    return f"{parts.scheme}://[{host}]:{port}{parts.path.rstrip('/')}"


def split_user(address: str) -> tuple[str, str | None]:
    """Takes user and password out of an address.

    Returns:
        The address without them, and the header `Authorization` of a request with them, None
        without any.

    Raises:
        ValueError: it is not an address.
    """
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    header = f"Basic {b64encode(unquote_to_bytes(user)).decode()}" if user else None
    return urlunsplit(parts._replace(netloc=host)), header


def address_digest(address: str) -> str:
    """Returns a digest of the whole address, which shows a change even of its secrets."""
    return sha256(address.encode()).hexdigest()[:16]


def fill_secrets(address: str) -> str:
    """Returns an address with variables of the environment in place of `${NAME}`.

    Raises:
        InputError: the environment has no such variable, or an empty one.
    """
    if missing := missing_variables(address):
        names = ", ".join(dict.fromkeys(missing))
        problem = (
            "the environment variable "
            f"{names} is {'empty' if missing[0] in os.environ else 'not set'}"
        )
        expected = f"a value: run `export {missing[0]}=...` in this shell first"
        raise InputError([Fault(public_address(address), "", problem, expected)])
    return VARIABLE_REFERENCE.sub(lambda found: os.environ[found[1]], address)


def missing_variables(address: str) -> list[str]:
    """Returns the variables that an address names and the environment does not have, or has without
    a value.
    """
    return [
        name for name in VARIABLE_REFERENCE.findall(address) if not os.environ.get(name, "").strip()
    ]


class Proxy(NamedTuple):
    """A proxy that the environment names: its address, which may hold a password, and the
    variable.
    """

    address: str
    variable: str


def find_proxy(address: str) -> Proxy | None:
    """Returns the proxy through which an address is reached.

    None where the environment names none, where `NO_PROXY` has the host, and for addresses on this
    machine.

    Raises:
        InputError: what the environment names cannot be a proxy.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    if is_this_machine(host) or bypasses_proxy(host, parts.netloc.rpartition("@")[2]):
        return None
    return next(environment_proxies(parts.scheme, "all"), None)


def environment_proxies(*kinds: str) -> Iterator[Proxy]:
    """Yields the proxies that the environment names.

    Args:
        kinds: of which variables: `http`, `https` or `all`.

    Raises:
        InputError: one cannot be a proxy.
    """
    for kind in kinds:
        for variable in (f"{kind}_proxy", f"{kind}_proxy".upper()):
            if value := os.environ.get(variable, "").strip():
                yield Proxy(check_proxy(value, variable), variable)


def prepare_proxies() -> None:
    """Sets `NO_PROXY` so that libraries which read the environment take no proxy for this machine.

    Raises:
        InputError: it names one that cannot be a proxy, for which their own messages do not help.
    """
    if list(environment_proxies("http", "https", "all")):
        excluded_hosts = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").split(",")
        hosts = dict.fromkeys(filter(None, [*excluded_hosts, *THIS_MACHINE]))
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(hosts)


def check_proxy(value: str, variable: str) -> str:
    """Returns the address of a proxy.

    Raises:
        InputError: it is none.
    """
    proxy = value if "://" in value else f"http://{value}"
    try:
        parts = urlsplit(proxy)
        is_one = (
            parts.scheme in PROXY_SCHEMES
            and HOST_PATTERN.fullmatch(parts.hostname or "")
            and parts.port != 0
        )
    except ValueError:
        is_one = None
    if not is_one:
        expected = (
            "an address such as http://proxy.example.org:3128, or no such "
            f"variable (`unset {variable}`)"
        )
        raise InputError(
            [Fault("the environment", variable, "does not name a usable proxy", expected)]
        )
    return proxy


def is_this_machine(host: str) -> bool:
    """Whether a host is `localhost`, a name below it, or a loopback or unspecified address."""
    try:
        return ip_address(host).is_loopback or ip_address(host).is_unspecified
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def bypasses_proxy(host: str, host_and_port: str) -> bool:
    """Says whether `NO_PROXY` has a host: by name, by the end of its name, or by a network of
    addresses.
    """
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    excluded_hosts = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if proxy_bypass_environment(host_and_port, {"no": excluded_hosts}):
        return True
    return any(
        is_in_network(host, network.strip())
        for network in excluded_hosts.split(",")
        if "/" in network
    )


def is_in_network(host: str, network: str) -> bool:
    """Says whether a host is an address of a network such as `10.0.0.0/8`."""
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """Returns a text with stars in place of secrets.

    Secrets are recognised as they are, in base64 (also as a part of the encoded text, such as
    `Bearer KEY`), in hexadecimal digits, and with characters escaped as in addresses, JSON or HTML.

    Args:
        text: an answer or error of a server to which the secrets were sent, which may repeat them.
        secrets: keys and passwords. Those of fewer than `FEWEST_CHARACTERS` characters stay in the
            text.
    """
    for secret in sorted(
        {secret for secret in secrets if len(secret) >= FEWEST_CHARACTERS}, key=len, reverse=True
    ):
        plain, encoded = secret_patterns(secret)
        text = "".join(hide_base64(plain.sub(STARS, text), encoded))
    return text


def hide_base64(text: str, encoded: re.Pattern[str]) -> Iterator[str]:
    """Yields the parts of a text, with stars in place of words in base64 that match a pattern."""
    rest = 0
    for match in encoded.finditer(text):
        start, end = match.span()
        if end <= rest:
            continue
        while start > rest and text[start - 1] in BASE64:
            start -= 1
        while end < len(text) and text[end] in BASE64:
            end += 1
        yield text[rest:start] + STARS
        rest = end
    yield text[rest:]


@lru_cache
def secret_patterns(secret: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Returns a pattern for a secret as it is or in hexadecimal digits, and one for its base64."""
    data = secret.encode(errors="surrogateescape")
    plain = [escaped_pattern(secret), f"(?i:{data.hex()})"]
    return re.compile("|".join(plain)), re.compile(
        "|".join(map(escaped_pattern, base64_cores(data)))
    )


def escaped_pattern(text: str) -> str:
    """Returns a pattern of a text each of whose characters may be written in another way."""
    return "".join(f"(?:{'|'.join(spellings(character))})" for character in text)


def spellings(character: str) -> Iterator[str]:
    """Yields patterns of the ways in which a character is written."""
    yield re.escape(character)
    if character in ESCAPES:
        yield ESCAPES[character]
    yield "".join(f"(?i:%{byte:02x})" for byte in character.encode(errors="surrogateescape"))
    units = character.encode("utf-16-be", errors="surrogatepass")
    yield "".join(
        rf"\\u(?i:{units[place]:02x}{units[place + 1]:02x})" for place in range(0, len(units), 2)
    )
    yield rf"&\#0*{ord(character)};|&\#(?i:x0*{ord(character):x});"


def base64_cores(data: bytes) -> Iterator[str]:
    """Yields what base64 makes of data alone, wherever they begin in what is encoded; for
    addresses, too.
    """
    for before in range(3):
        whole = b64encode(bytes(before) + data).decode()
        core = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        yield from {core, core.replace("+", "-").replace("/", "_")}


def report_proxies(addresses: Iterable[str]) -> None:
    """Prints a line for each host that is reached through a proxy, if any is.

    Args:
        addresses: those of the servers; one with a variable that the environment lacks is left to
            its job.

    Raises:
        InputError: the environment names a proxy that cannot be used, or its variables make no
            address.
    """
    lines = {}
    for address in addresses:
        if not missing_variables(address):
            resolved = fill_secrets(address)
            canonical_address(resolved)
            if proxy := find_proxy(resolved):
                host = urlsplit(resolved).netloc.rpartition("@")[2]
                lines[host] = (
                    f"requests to {host} go through the "
                    f"proxy {public_address(proxy.address)} ({proxy.variable})"
                )
    for line in lines.values():
        sys.stderr.write(f"{line}\n")
