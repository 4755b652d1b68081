"""Reports: one page of HTML that opens without a network and holds all it shows.

Runs, captures, recordings and sweeps become sections of words, tables and pictures; the page draws
the pictures of the room `pictures` on canvases, on one axis of time.
"""

from netspurt.report.captures import capture_section
from netspurt.report.compared import compared_section
from netspurt.report.page import page
from netspurt.report.parts import Section
from netspurt.report.recordings import replay_section
from netspurt.report.runs import run_section
from netspurt.report.sweeps import sweep_section

__all__ = [
    "Section",
    "capture_section",
    "compared_section",
    "page",
    "replay_section",
    "run_section",
    "sweep_section",
]
