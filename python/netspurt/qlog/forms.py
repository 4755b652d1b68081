"""The two forms of qlog: the form of the current drafts, and the form for the viewer qvis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: The kinds of events that are written, by their names in this package.
EVENTS = ("sent", "received", "metrics", "state", "lost", "timer", "rto")

#: The event schemas: QUIC's from draft-ietf-quic-qlog-quic-events-13, and netspurt's, which
#: docs/interchange.md describes. The URI of netspurt's schema must be absolute and contain the
#: namespace. The project owns no domain, so the URI is a UUID (RFC 9562) with a q-component
#: (RFC 8141 §2.3.2).
_SCHEMAS = (
    "urn:ietf:params:qlog:events:quic-13",
    "urn:uuid:530d590e-7ba7-48c2-bf63-9b26597dc1fc?=netspurt",
)


@dataclass(frozen=True)
class QlogForm:
    """A form of qlog.

    Attributes
    ----------
    name
        The form's name.
    names
        The names of events in files, by their kinds in `EVENTS`. Events of a kind without a name
        are not written.
    sequential, contained
        The first members of a file of records, and of a file of one object.
    common
        The fields that all events of a trace have.
    of_trace
        Further members of a trace.
    frames
        True if packets have their data and acknowledgments as QUIC frames.
    """

    name: str
    names: Mapping[str, str]
    sequential: Mapping[str, str]
    contained: Mapping[str, str]
    common: Mapping[str, Any]
    of_trace: Mapping[str, Any] = field(default_factory=dict)
    frames: bool = False


#: draft-ietf-quic-qlog-main-schema-14 and draft-ietf-quic-qlog-quic-events-13, both of July 2026.
CURRENT = QlogForm(
    "current",
    {
        "sent": "netspurt:packet_sent",
        "received": "netspurt:packet_received",
        "metrics": "quic:recovery_metrics_updated",
        "state": "quic:congestion_state_updated",
        "lost": "quic:packet_lost",
        "timer": "quic:timer_updated",
        "rto": "netspurt:rto_updated",
    },
    {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
    },
    {
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
    },
    {
        "time_format": "relative_to_epoch",
        "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
    },
    {"event_schemas": list(_SCHEMAS)},
)

#: Version 0.3, draft-ietf-quic-qlog-main-schema-02 and draft-ietf-quic-qlog-quic-events-01, which
#: qvis reads. Qvis knows only QUIC's names, so this form writes packets as QUIC packets.
QVIS = QlogForm(
    "qvis",
    {
        "sent": "transport:packet_sent",
        "received": "transport:packet_received",
        "metrics": "recovery:metrics_updated",
        "state": "recovery:congestion_state_updated",
        "lost": "recovery:packet_lost",
        "timer": "recovery:loss_timer_updated",
    },
    {"qlog_version": "0.3", "qlog_format": "JSON-SEQ"},
    {"qlog_version": "0.3", "qlog_format": "JSON"},
    {"time_format": "relative", "reference_time": 0, "protocol_type": ["TCP"]},
    frames=True,
)
