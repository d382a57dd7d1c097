"""Published formulas on answers, as functions of tables and lists that know nothing of a cell."""
