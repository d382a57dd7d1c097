"""Secrets that a server sends back are starred, however it writes them."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.base.addresses import hide_secrets

KEY = 'sk-Ab/9+_"x\\y é&z?'
WRITTEN: dict[str, Callable[[str], str]] = {
    "plain": str,
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 without padding": lambda text: b64encode(text.encode()).decode().rstrip("="),
    "base64 for addresses": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64 in an address": lambda text: quote(b64encode(text.encode()).decode(), safe=""),
    "in an address": lambda text: quote(text, safe=""),
    "in a query": quote_plus,
    "in an address, small letters": lambda text: (
        quote(text, safe="").lower().replace("sk-ab", "sk-Ab")
    ),
    "all of it in an address": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with letters as they are": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON of another kind": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "HTML": lambda text: html.escape(text, quote=False),
    "HTML in numbers": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "hexadecimal": lambda text: text.encode().hex().upper(),
}


@pytest.mark.parametrize("before", ["", "a", "ab", "Bearer ", "user:"])
@pytest.mark.parametrize("way", WRITTEN)
def test_a_key_is_starred_however_it_is_written(way: str, before: str) -> None:
    sent = WRITTEN[way](before + KEY + "\n")
    told = hide_secrets(f"Error: ({sent}) is not known", [KEY])
    assert told.startswith("Error: (")
    assert told.endswith(") is not known")
    assert "***" in told
    kept = told.removeprefix("Error: (").removesuffix(") is not known").replace("***", "")
    assert len(kept) <= len(WRITTEN[way](before)) + len(WRITTEN[way]("\n"))


@settings(max_examples=60, deadline=None)
@given(
    st.text(st.characters(codec="utf-8"), min_size=6, max_size=40),
    st.sampled_from([*WRITTEN]),
    st.text(max_size=5),
)
def test_no_key_is_left(key: str, way: str, before: str) -> None:
    if way == "in an address, small letters":
        return
    sent = WRITTEN[way](before + key) if "base64" in way else before + WRITTEN[way](key)
    told = hide_secrets(sent, [key])
    assert told == "***" if "base64" in way else WRITTEN[way](key) not in told
    assert "***" in told


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A nurse.",
        "The key sk-Ab is short. c2std2E=",
        "EMPTY and so on",
        "*** " * 3,
        "deadbeef" * 5,
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert hide_secrets(text, [KEY, "EMPTY", "", "so on"]) == text


def test_of_two_keys_the_longer_one_goes_first() -> None:
    assert hide_secrets("sk-12345-67890 sk-12345", ["sk-12345", "sk-12345-67890"]) == "*** ***"
