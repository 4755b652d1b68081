"""Connections of a run or of a capture in qlog, the format of QUIC's logs.

qlog has no schema for TCP. Packets are events in a namespace of netspurt. Events of loss recovery
have the names and units of draft-ietf-quic-qlog-quic-events-13. docs/interchange.md describes both
kinds of events.
"""

from netspurt.qlog.files import ENDINGS, write_qlog
from netspurt.qlog.forms import CURRENT, QVIS
from netspurt.qlog.vantage import Vantage, vantages

__all__ = ["CURRENT", "ENDINGS", "QVIS", "Vantage", "vantages", "write_qlog"]
