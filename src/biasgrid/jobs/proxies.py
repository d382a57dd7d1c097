"""Which proxies the environment names for the servers of a run: looked at before the run begins, and said once."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from biasgrid.base.addresses import VARIABLE, canonical, host_of, proxy_of, public_address, with_secrets


def report_proxies(addresses: Iterable[str]) -> None:
    """Prints a line for each host that is reached through a proxy, if any is.

    Args:
        addresses: those of the servers; one with a variable that the environment lacks is left to the job that asks it.

    Raises:
        InputError: the environment names a proxy that cannot be used, or its variables make no address.
    """
    lines = {}
    for address in addresses:
        if all(name in os.environ for name in VARIABLE.findall(address)):
            resolved = with_secrets(address)
            canonical(resolved)
            if proxy := proxy_of(resolved):
                host = host_of(resolved)
                lines[host] = (
                    f"requests to {host} go through the proxy {public_address(proxy.address)} ({proxy.variable})"
                )
    for line in lines.values():
        sys.stderr.write(f"{line}\n")
