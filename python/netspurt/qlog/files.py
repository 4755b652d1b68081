"""Files of qlog: a sequence of records with one trace, or one JSON object with several traces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from netspurt.qlog.events import in_order
from netspurt.qlog.forms import CURRENT, QlogForm
from netspurt.qlog.packets import packet_events
from netspurt.qlog.recovery import recovery_events
from netspurt.qlog.vantage import Vantage
from netspurt.stored import write_new
from netspurt.table import HasTables

#: The endings of files: `.sqlog` for JSON text sequences (RFC 7464), and `.qlog` for JSON.
ENDINGS = (".sqlog", ".qlog")

#: The character that begins a record (RFC 7464 §2.2).
_RECORD = "\x1e"


def write_qlog(
    path: str | os.PathLike[str],
    tables: HasTables,
    seen: Sequence[Vantage],
    *,
    form: QlogForm = CURRENT,
) -> int:
    """Write connections as qlog to a new file.

    Parameters
    ----------
    path
        The file: `.sqlog` for a sequence of records with one connection at one node, or `.qlog` for
        one JSON object with a trace for each connection and node.
    tables
        A run or a capture, with its segments.
    seen
        The connections and nodes.
    form
        `CURRENT` (the current drafts) or `QVIS` (for the viewer qvis).

    Returns
    -------
    int
        The number of events that were written.

    Raises
    ------
    ValueError
        If the name has neither ending, or if the file cannot hold that many traces.
    FileExistsError
        If something of that name exists.
    """
    file = Path(path)
    if file.suffix not in ENDINGS:
        raise ValueError(f"{file}: the name of a file of qlog must end in {' or '.join(ENDINGS)}")
    sequential = file.suffix == ENDINGS[0]
    if sequential and len(seen) != 1:
        raise ValueError(
            f"{file}: a file of records holds one connection at one node, and {len(seen)} were "
            "found: write a .qlog file, or name a flow and a node"
        )
    traces = [(_trace(tables, vantage, form), _events(tables, vantage, form)) for vantage in seen]
    write_new(file, (_records if sequential else _object)(tables.title, traces, form))
    return sum(len(events) for _, events in traces)


def _events(tables: HasTables, vantage: Vantage, form: QlogForm) -> list[str]:
    """Return the events of a trace in the order of time, each as JSON."""
    kinds = [*packet_events(tables, vantage, form)]
    if vantage.has_sender_tables:
        kinds += recovery_events(tables, vantage, form)
    events: list[str] = in_order(kinds, form).tolist()
    return events


def _trace(tables: HasTables, vantage: Vantage, form: QlogForm) -> dict[str, Any]:
    """Return all members of a trace except its events."""
    return {
        "title": f"{vantage.flow} at {vantage.node}",
        "description": tables.title,
        "vantage_point": vantage.told(),
        "common_fields": {**form.common, "group_id": vantage.flow},
        **form.of_trace,
    }


def _records(title: str, traces: Sequence[tuple[dict[str, Any], list[str]]], form: QlogForm) -> str:
    ((description, events),) = traces
    head = json.dumps({**form.sequential, "title": title, "trace": description})
    return "".join(f"{_RECORD}{record}\n" for record in [head, *events])


def _object(title: str, traces: Sequence[tuple[dict[str, Any], list[str]]], form: QlogForm) -> str:
    return "".join(_parts({**form.contained, "title": title}, traces))


def _parts(
    head: dict[str, Any], traces: Sequence[tuple[dict[str, Any], list[str]]]
) -> Iterator[str]:
    """Yield the text of a JSON object with all traces. Each event is on its own line."""
    yield json.dumps(head)[:-1] + ', "traces": ['
    for n, (description, events) in enumerate(traces):
        yield ("," if n else "") + "\n" + json.dumps(description)[:-1] + ', "events": [\n'
        yield ",\n".join(events)
        yield "\n]}"
    yield "\n]}\n"
