"""Connections as qlog: what a run or a capture tells, in the events of QUIC's logs.

There is no qlog schema of TCP. Packets are events of a namespace of their own; recovery has the
names and units that draft-ietf-quic-qlog-quic-events-13 gives it. docs/interchange.md has both.
"""

from netspurt.qlog.files import ENDINGS, write_qlog
from netspurt.qlog.forms import CURRENT, QVIS
from netspurt.qlog.vantage import Vantage, vantages

__all__ = ["CURRENT", "ENDINGS", "QVIS", "Vantage", "vantages", "write_qlog"]
