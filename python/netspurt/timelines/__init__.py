"""Files that links follow: from recordings of delays, and from the formats of other tools."""

from netspurt.timelines.files import read_timeline
from netspurt.timelines.recorded import OUTAGE, follow
from netspurt.timelines.timeline import Outage, Timeline, plain

__all__ = ["OUTAGE", "Outage", "Timeline", "follow", "plain", "read_timeline"]
