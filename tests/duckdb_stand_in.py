"""DuckDB's shell, as far as the README needs it: `duckdb -c QUERY ...`."""

from __future__ import annotations

import sys

import duckdb

for query in sys.argv[2::2]:
    print(duckdb.sql(query))
