"""What models say: one row per instance, in the schema of its answer kind; each kind is a module here."""

from __future__ import annotations

from importlib import import_module

import pandera.polars as pa
import polars as pl

from biasgrid.tables.schema import TRUNCATED_COLUMN, UNKNOWN_COLUMN, column
