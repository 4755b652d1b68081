"""Lists the retransmission timers: every algorithm of the core, with its constants."""

from __future__ import annotations

from from_code.markdown import code, table


def estimators() -> str:
    """Return a table with a row for each algorithm, with its constants and their defaults."""
    from netspurt._core import ALGORITHMS

    rows = [_row(name) for name in ALGORITHMS]
    heads = ["name", "first timer", "minimum", "maximum", "constants and their defaults"]
    return table(heads, rows)


def _row(name: str) -> tuple[str, str, str, str, str]:
    from netspurt._core import Estimator

    timer = Estimator(name)
    constants = ", ".join(code(f"{key}={value}") for key, value in timer.settings)
    shortest, longest = timer.bounds
    return code(name), _span(timer.rto()), _span(shortest), _span(longest), constants or "none"


def _span(seconds: float) -> str:
    if seconds > 1e6:
        return "no bound"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.10g} {unit}"
    return f"{seconds * 1e9:.10g} ns"
