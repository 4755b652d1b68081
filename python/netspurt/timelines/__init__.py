"""Timelines that links follow, made from recordings of delays or from files of other tools.

A timeline has the delays, rates or losses of a link, each with the instant at which it begins.
"""

from netspurt.timelines.error import TimelineError, printable
from netspurt.timelines.files import paired, read_timeline
from netspurt.timelines.followed import read_followed
from netspurt.timelines.recorded import OUTAGE, follow
from netspurt.timelines.timeline import Outage, Timeline, Way
from netspurt.timelines.traces import OPPORTUNITY_BYTES, delivered, mahimahi, silence_at_end

__all__ = [
    "OPPORTUNITY_BYTES",
    "OUTAGE",
    "Outage",
    "Timeline",
    "TimelineError",
    "Way",
    "delivered",
    "follow",
    "mahimahi",
    "paired",
    "printable",
    "read_followed",
    "read_timeline",
    "silence_at_end",
]
