"""Sweeps: a scenario's cases, run by an engine and kept in a folder that survives interruptions.

A case is one combination of a sweep's values, with one seed. `Sweep.of(scenario)` has the cases of
a scenario's `[sweep]`. `Sweep.listed` has cases that a Python program made. `run_sweep` runs the
cases that are missing in a folder, and `open_sweep` opens a folder.
"""

from netspurt.sweep.cases import Cases
from netspurt.sweep.driver import SweepFailedError, run_sweep
from netspurt.sweep.engines import Chunk, Engine, Threads
from netspurt.sweep.folder import SweepFolder, Tally, open_sweep
from netspurt.sweep.kernel import Live
from netspurt.sweep.plan import Sweep
from netspurt.sweep.store import SweepError

__all__ = [
    "Cases",
    "Chunk",
    "Engine",
    "Live",
    "Sweep",
    "SweepError",
    "SweepFailedError",
    "SweepFolder",
    "Tally",
    "Threads",
    "open_sweep",
    "run_sweep",
]
