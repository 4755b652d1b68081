"""Studies TCP retransmission: when a sender retransmits, and what a wrong decision costs.

>>> import netspurt as ns
>>> run = ns.new_scenario().replace({"stop": "20 s"}).run()
>>> int(run.flows["retransmissions"][0])
7

`load` reads a scenario file, or a scenario that comes with netspurt. `Scenario.replace` changes its
values, and `Scenario.run` simulates it. `open_run` opens a saved run. `run_live` runs a scenario on
the kernel's TCP.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netspurt._core import (
        DelaysError,
        Estimator,
        EstimatorError,
        OrbitError,
        ReplayError,
        ScenarioError,
        __version__,
    )
    from netspurt.advice import Advice, Price, advise
    from netspurt.algorithms import AlgorithmError
    from netspurt.congestion import check_congestion
    from netspurt.delays import Delays, read_delays
    from netspurt.estimators import check_estimator, estimator
    from netspurt.live import LiveError, run_live
    from netspurt.orbit import OrbitPath
    from netspurt.run import Run, RunError, open_run
    from netspurt.scenario import Scenario, load, new_scenario
    from netspurt.surrogate import Row
    from netspurt.sweep import Cases, Sweep, open_sweep, run_sweep
    from netspurt.table import Table
    from netspurt.timers import Replay, replay

__all__ = [
    "Advice",
    "AlgorithmError",
    "Cases",
    "Delays",
    "DelaysError",
    "Estimator",
    "EstimatorError",
    "LiveError",
    "OrbitError",
    "OrbitPath",
    "Price",
    "Replay",
    "ReplayError",
    "Row",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Table",
    "__version__",
    "advise",
    "check_congestion",
    "check_estimator",
    "estimator",
    "load",
    "new_scenario",
    "open_run",
    "open_sweep",
    "read_delays",
    "replay",
    "run_live",
    "run_sweep",
]

#: These names are imported when they are first used. Most of their modules import numpy, which
#: takes long. If numpy were always imported, the completion of a command in a shell and the
#: reaction to Ctrl-C would wait for this import.
_LATER = {
    "Advice": "advice",
    "AlgorithmError": "algorithms",
    "Price": "advice",
    "advise": "advice",
    "Cases": "sweep",
    "Delays": "delays",
    "DelaysError": "_core",
    "Replay": "timers",
    "ReplayError": "_core",
    "Estimator": "_core",
    "EstimatorError": "_core",
    "LiveError": "live",
    "OrbitError": "_core",
    "OrbitPath": "orbit",
    "Row": "surrogate",
    "Run": "run",
    "RunError": "run",
    "Scenario": "scenario",
    "ScenarioError": "_core",
    "Sweep": "sweep",
    "Table": "table",
    "__version__": "_core",
    "check_congestion": "congestion",
    "check_estimator": "estimators",
    "estimator": "estimators",
    "load": "scenario",
    "new_scenario": "scenario",
    "open_run": "run",
    "open_sweep": "sweep",
    "run_live": "live",
    "run_sweep": "sweep",
    "read_delays": "delays",
    "replay": "timers",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"netspurt.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    return __all__
