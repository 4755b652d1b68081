"""Connections of a run or of a capture in qlog, the format of QUIC's logs.

qlog has no schema for TCP. Packets and RTOs are events in a namespace of netspurt. The other events
have the names and units of draft-ietf-quic-qlog-quic-events-13. In the form for the viewer qvis,
all events have QUIC's names. docs/interchange.md describes the events.
"""

from netspurt.qlog.files import ENDINGS, write_qlog
from netspurt.qlog.forms import CURRENT, QVIS
from netspurt.qlog.vantage import Vantage, vantages

__all__ = ["CURRENT", "ENDINGS", "QVIS", "Vantage", "vantages", "write_qlog"]
