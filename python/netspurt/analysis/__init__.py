"""Statistics of recorded delays: dependence on length, bursts, intervals.

All functions take arrays; none depends on their source. A lost probe's delay is NaN.
"""

from netspurt.analysis.account import Account, Sums, contradictions
from netspurt.analysis.adaptation import Adaptation, adaptations
from netspurt.analysis.bootstrap import (
    Interval,
    Resamples,
    block_bootstrap,
    block_length,
    paired_difference,
)
from netspurt.analysis.glitches import Glitch, find_glitches
from netspurt.analysis.lengths import Fit, Line, RateTable, fit_lengths, rate_band, rate_table
from netspurt.analysis.load import Load, RunName, busy_against_quiet, label_by_delay
from netspurt.analysis.period import Period, find_period

__all__ = [
    "Account",
    "Adaptation",
    "Fit",
    "Glitch",
    "Interval",
    "Line",
    "Load",
    "Period",
    "RateTable",
    "Resamples",
    "RunName",
    "Sums",
    "adaptations",
    "block_bootstrap",
    "block_length",
    "busy_against_quiet",
    "contradictions",
    "find_glitches",
    "find_period",
    "fit_lengths",
    "label_by_delay",
    "paired_difference",
    "rate_band",
    "rate_table",
]
