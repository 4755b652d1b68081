"""Papers, their claims, and the verdicts on these claims. The verdicts follow from runs.

A paper is a folder with data, scenarios, expected values and names of measures. A paper has no
code. `shelf` finds papers, and `check` judges a paper.
"""

from netspurt.papers.check import JudgedClaim, Verdict, check
from netspurt.papers.data import Claim, Paper, PaperError
from netspurt.papers.reading import read_paper, shelf

__all__ = ["Claim", "JudgedClaim", "Paper", "PaperError", "Verdict", "check", "read_paper", "shelf"]
