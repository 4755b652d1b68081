"""When should a transport send again, and what does it cost to be wrong?

>>> import netspurt as ns
>>> run = ns.new_scenario().replace({"stop": "20 s"}).run()
>>> int(run.flows["resends"][0])
4

`load` reads a scenario file, `Scenario.replace` sets values over it, `Scenario.run` runs it, and
`open_run` opens a run that was saved.
"""

from netspurt._core import ScenarioError, __version__
from netspurt.run import Run, RunError, open_run
from netspurt.scenario import Scenario, load, new_scenario
from netspurt.table import Table

__all__ = [
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Table",
    "__version__",
    "load",
    "new_scenario",
    "open_run",
]
