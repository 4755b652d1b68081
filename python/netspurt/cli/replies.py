"""Words for durations of replies. Some replies were not complete when the run ended."""

from __future__ import annotations

from netspurt.wording import counted


def bounded(seconds: float, more: bool) -> str:
    """Return a duration; a `>` before it means that the true duration may be longer."""
    return f"{'> ' * more}{1e3 * seconds:.3f} ms"


def still_waiting(requests: int) -> str:
    """Return the line that explains the `>` of durations."""
    return f"> means at least: {counted(requests, 'request')} still waited at the end of the run"
