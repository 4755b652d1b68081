"""Papers: their claims, and the verdicts of runs on each claim.

A paper is a folder with data, scenarios, expected values and names of measures, and without code.
`shelf` finds papers, `check` judges one.
"""

from netspurt.papers.check import Judged, Verdict, check
from netspurt.papers.data import Claim, Paper, PaperError, read_paper, shelf

__all__ = ["Claim", "Judged", "Paper", "PaperError", "Verdict", "check", "read_paper", "shelf"]
