"""Names of the deviation in a timer's state: estimators mean different things by rttvar."""

from __future__ import annotations

import tomllib

from netspurt.pictures.view import DIRECTIONS, Tables, captured

#: In Linux's estimator rttvar stands for four mean deviations and is at least rto_min.
_LINUX = "rttvar of Linux (4 mean deviations, at least rto_min)"

#: The kernel's `tcpi_rttvar` is its mean deviation, and not its own rttvar.
_KERNEL = "mean deviation (tcpi_rttvar)"

#: The estimators of profiles whose scenarios name none, if that is not `rfc6298`.
_DEFAULT = {"ns-2": "ns-2"}


def deviation(run: Tables, flow: str, direction: str) -> str:
    """Return the name of the column `rttvar_ns` for the end that sends in a direction of a flow.

    In the timer of RFC 6298 rttvar is one deviation, which counts four times. In Linux's it is four
    deviations with a minimum. A kernel shows one mean deviation. For a capture, Linux's timer is
    computed.
    """
    if captured(run) is not None:
        return _LINUX
    scenario = str(getattr(run, "scenario", ""))
    own = tomllib.loads(scenario).get("flows", {}).get(flow, {})
    end = own.get("endpoint", "")
    end = end if isinstance(end, str) else end[DIRECTIONS.index(direction)]
    if end == "kernel":
        return _KERNEL
    estimator = str(own.get("tcp", {}).get("rto", {}).get("estimator", ""))
    name = estimator.partition(":")[0] or _DEFAULT.get(str(own.get("profile", "")), "rfc6298")
    return _LINUX if name == "linux" else f"rttvar of {name}" if own else "rttvar"
