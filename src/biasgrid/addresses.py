"""Addresses that may hold secrets: what of them may be shown, and where the secrets come from."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from hashlib import sha256
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from biasgrid.faults import Fault, InputError

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def shown(address: str) -> str:
    """Returns what of an address may be written: no user, no password, no query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that cannot be read"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def without_user(address: str) -> tuple[str, str | None]:
    """Takes user and password out of an address.

    Returns:
        The address without them, and what a request says of them in its header `Authorization`, None without any.

    Raises:
        ValueError: it is not an address.
    """
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    header = f"Basic {b64encode(unquote_to_bytes(user)).decode()}" if user else None
    return urlunsplit(parts._replace(netloc=host)), header


def digest_of(address: str) -> str:
    """Returns a digest by which one notices that an address has changed, whatever of it is shown."""
    return sha256(address.encode()).hexdigest()[:16]


def with_secrets(address: str) -> str:
    """Returns an address with variables of the environment in place of `${NAME}`.

    Raises:
        InputError: the environment has no such variable.
    """
    missing = [name for name in VARIABLE.findall(address) if name not in os.environ]
    if missing:
        names = ", ".join(dict.fromkeys(missing))
        expected = f"it there, such as `export {missing[0]}=...`, in the shell that runs snakemake"
        raise InputError([Fault(shown(address), "", f"the environment has no {names}", expected)])
    return VARIABLE.sub(lambda found: os.environ[found[1]], address)
