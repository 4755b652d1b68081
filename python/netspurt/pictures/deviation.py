"""Names the deviation in a timer's state: the meaning of rttvar differs between timers."""

from __future__ import annotations

import tomllib

from netspurt.pictures.view import DIRECTIONS, Tables, captured

#: In Linux's estimator, rttvar stands for four mean deviations and is at least rto_min.
_LINUX = "rttvar of Linux (4 mean deviations, at least rto_min)"

#: The kernel's `tcpi_rttvar` is the kernel's mean deviation, and not the kernel's own rttvar.
_KERNEL = "mean deviation (tcpi_rttvar)"


def deviation(run: Tables, flow: str, direction: str) -> str:
    """Return in words what `rttvar_ns` means for the end that sends in a direction of a flow.

    In the timer of RFC 6298, rttvar is one deviation, and the timer contains it four times. In
    Linux's timer, rttvar is four deviations with a minimum. The kernel reports one mean deviation.
    For a capture, netspurt computes Linux's timer.
    """
    if captured(run) is not None:
        return _LINUX
    scenario = tomllib.loads(getattr(run, "scenario", ""))
    flows = scenario.get("flows", {}) | scenario.get("populations", {})
    # A population is many connections of one kind. Connection 0 of the population `web`, or of
    # programs at the ends of a flow `web`, is called `web.0`.
    own = flows.get(flow) or flows.get(flow.rpartition(".")[0])
    if own is None:
        return "rttvar"
    end = own["endpoint"]
    end = end if isinstance(end, str) else end[DIRECTIONS.index(direction)]
    if end == "kernel":
        return _KERNEL
    # With the profile `ns-2`, a sender has no key `estimator`, so its timer has the name of the
    # profile.
    estimator = own["tcp"]["rto"].get("estimator", own["profile"]).partition(":")[0]
    return _LINUX if estimator == "linux" else f"rttvar of {estimator}"
