"""Statistics of delays, throughputs and timers, with confidence intervals where there are any.

The functions take arrays or plain values, from any source. The delay of a lost probe is NaN.
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
from netspurt.analysis.changes import Change, find_changes
from netspurt.analysis.constancy import (
    IN_2001,
    Lengths,
    Prediction,
    SteadyPeriod,
    band_periods,
    category_periods,
    change_free_periods,
    lengths_of,
    medians_every,
    neighbours,
    predictions,
)
from netspurt.analysis.glitches import Glitch, find_glitches
from netspurt.analysis.lengths import Fit, Line, RateTable, fit_lengths, rate_band, rate_table
from netspurt.analysis.levels import Level, Levels, find_levels
from netspurt.analysis.load import Load, RunName, busy_against_quiet, label_by_delay
from netspurt.analysis.period import Period, find_period

__all__ = [
    "IN_2001",
    "Account",
    "Adaptation",
    "Change",
    "Fit",
    "Glitch",
    "Interval",
    "Lengths",
    "Level",
    "Levels",
    "Line",
    "Load",
    "Period",
    "Prediction",
    "RateTable",
    "Resamples",
    "RunName",
    "SteadyPeriod",
    "Sums",
    "adaptations",
    "band_periods",
    "block_bootstrap",
    "block_length",
    "busy_against_quiet",
    "category_periods",
    "change_free_periods",
    "contradictions",
    "find_changes",
    "find_glitches",
    "find_levels",
    "find_period",
    "fit_lengths",
    "label_by_delay",
    "lengths_of",
    "medians_every",
    "neighbours",
    "paired_difference",
    "predictions",
    "rate_band",
    "rate_table",
]
