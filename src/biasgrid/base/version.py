"""The version of biasgrid, for all that records what made a file.

It is written once, as `version` in `pyproject.toml`, and read from the metadata of the installed
package.
"""

from __future__ import annotations

from functools import cache


@cache
def package_version() -> str:
    """Returns the version of the installed package, such as `0.2.0`.

    Raises:
        PackageNotFoundError: biasgrid is not installed, neither from a wheel nor as an editable
            install.
    """
    # Imported here: it takes tens of milliseconds, and most commands do not need the version.
    from importlib.metadata import version

    return version("biasgrid")
