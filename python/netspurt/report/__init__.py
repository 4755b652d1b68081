"""Reports: one page of HTML that contains all its data and needs no network.

Each run, capture, recording and sweep has a section of words, tables and pictures. Two compared
runs or captures share one section. The page draws the pictures of `netspurt.pictures` on canvases.
The pictures over time of one section share one axis of time.
"""

from netspurt.report.captures import capture_section
from netspurt.report.compared import compared_section
from netspurt.report.folders import captures_sections, recordings_section
from netspurt.report.page import page
from netspurt.report.parts import Section
from netspurt.report.recordings import replay_section
from netspurt.report.runs import run_section
from netspurt.report.sweeps import sweep_section

__all__ = [
    "Section",
    "capture_section",
    "captures_sections",
    "compared_section",
    "page",
    "recordings_section",
    "replay_section",
    "run_section",
    "sweep_section",
]
