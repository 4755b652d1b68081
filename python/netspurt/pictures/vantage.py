"""Finds out where a direction was captured, because some pictures depend on it."""

from __future__ import annotations

from netspurt.analysis.seen import vantages
from netspurt.pictures.view import Tables, View, captured, connection_of

#: The reason, for error messages, why a capture does not show the facts that a picture needs.
BESIDE = "the capture was taken beside the receiver"


class BesideReceiverError(ValueError):
    """A picture needs facts about a direction that a capture beside the receiver does not show."""


def vantage(run: Tables, flow: str, view: View) -> str | None:
    """Return where the shown direction was captured: `sender`, `receiver`, `middle` or `unknown`.

    Return `None` for a run.
    """
    connections = captured(run)
    if connections is None:
        return None
    tables = {"connections": connections, "habits": run.table("habits")}
    where = vantages(tables).get((connection_of(flow), view.sends), "unknown")
    # Beside a simulated receiver, all samples are zero, even if the handshake was not captured.
    samples = run.table("rtt").where(flow=flow, direction=view.sends)
    return "receiver" if len(samples) and not samples["rtt_ns"].any() else where
