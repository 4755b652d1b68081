"""Papers: what they claim, and what a run says of each claim.

A paper is a folder of data, scenarios, expected values and the names of the measures that get
them, and holds no code. `shelf` finds papers, `check` judges one.
"""

from netspurt.papers.check import Judged, Verdict, check
from netspurt.papers.data import Claim, Paper, PaperError, read_paper, shelf

__all__ = ["Claim", "Judged", "Paper", "PaperError", "Verdict", "check", "read_paper", "shelf"]
