"""How scenarios write instants and spans."""

from __future__ import annotations

#: Units of time and their nanoseconds, the longest first.
_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000), ("ns", 1))


def seconds(value: float) -> str:
    """Return a time [s] as scenarios write it, to the nanosecond."""
    return nanoseconds(round(float(value) * 1e9))


def nanoseconds(value: int) -> str:
    """Return a time [ns] as scenarios write it, in the longest unit that is exact."""
    unit, size = next((unit, size) for unit, size in _UNITS if value % size == 0)
    return f"{value // size} {unit}"


def plain(name: str) -> str:
    """Return a name on one line, without control characters."""
    return "".join(c if c.isprintable() else "?" for c in name)
