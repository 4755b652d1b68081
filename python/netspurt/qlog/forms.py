"""The two forms of qlog: that of the present drafts, and the one that the viewer qvis reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: The events that are written, by the names that the code has for them.
EVENTS = ("sent", "received", "metrics", "state", "lost", "timer", "rto")

#: The event schemas: QUIC's of draft-ietf-quic-qlog-quic-events-13, and netspurt's, which
#: docs/interchange.md has. Its URI must be absolute and name the namespace; it is that of a UUID
#: (RFC 9562) with a q-component (RFC 8141 §2.3.2), since the project owns no domain.
_SCHEMAS = (
    "urn:ietf:params:qlog:events:quic-13",
    "urn:uuid:530d590e-7ba7-48c2-bf63-9b26597dc1fc?=netspurt",
)


@dataclass(frozen=True)
class Form:
    """A form of qlog.

    Attributes
    ----------
    name
        Its name.
    names
        The names of events; those without one are left out.
    sequential, contained
        The first members of a file of records, and of a file of one object.
    common
        The fields that all events of a trace have.
    of_trace
        Further members of a trace.
    frames
        Whether packets tell of their data and acknowledgements as QUIC's frames.
    """

    name: str
    names: Mapping[str, str]
    sequential: Mapping[str, str]
    contained: Mapping[str, str]
    common: Mapping[str, Any]
    of_trace: Mapping[str, Any] = field(default_factory=dict)
    frames: bool = False


#: draft-ietf-quic-qlog-main-schema-14 and draft-ietf-quic-qlog-quic-events-13, both of July 2026.
CURRENT = Form(
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
#: qvis reads. It knows QUIC's names alone, so that packets are QUIC's in it.
QVIS = Form(
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
