"""Files that links follow: from recordings of delays, and from the formats of other tools."""

from netspurt.timelines.files import Timeline, read_timeline
from netspurt.timelines.recorded import OUTAGE, Moves, Outage, follow

__all__ = ["OUTAGE", "Moves", "Outage", "Timeline", "follow", "read_timeline"]
