"""The engine on Ray, for several machines: `pip install 'netspurt[cluster]'`."""

from __future__ import annotations

import ipaddress
import logging
import math
import os
import socket
from collections.abc import Iterator
from typing import Any

from netspurt import _core
from netspurt.sweep.driver import seconds_a_case
from netspurt.sweep.engines import Chunk
from netspurt.sweep.plan import Sweep

#: A task should take at least this many seconds, to be worth its transfer to a worker.
TASK_S = 1.0
#: How often a task is repeated if its worker or node dies.
_RETRIES = 10
#: The duration of one wait, in seconds; interrupts are handled after it.
_POLL_S = 0.1
#: The time within which a cluster must answer, in seconds.
_ANSWER_S = 10.0

#: Ray's variable for whether a cluster has other machines. Without them a cluster listens on
#: loopback only. On Linux no other setting does that, because Ray replaces a loopback address by
#: the machine's address.
_HAS_OTHER_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"

#: The sweeps that this worker has read, so that it reads each sweep only once.
_known: dict[str, Sweep] = {}


def run_chunks(key: str, plan: list[Any], chunks: list[Chunk]) -> list[_core.Outcome]:
    """Run chunks in a worker; `plan` holds Ray's reference to the sweep."""
    import ray

    if key not in _known:
        _known.clear()
        _known[key] = ray.get(plan[0])
    return [_known[key].run_chunk(chunk.first, chunk.count) for chunk in chunks]


class Ray:
    """The engine on a Ray cluster.

    Several chunks form a task, so that a task takes at least a second. If the worker or node of a
    task dies, the task is run again elsewhere, with the same bytes as a result.

    Parameters
    ----------
    sweep
        The sweep whose chunks are run.
    address
        The cluster's address. By default a cluster is started on this machine and stopped at the
        end of the sweep. That cluster listens on loopback only, because anyone who reaches its
        ports can run code. All machines of a cluster need this version of netspurt.
    workers
        The number of parallel tasks; 0 for one per processor of the cluster.
    task_s
        The minimum duration of a task in seconds.

    Raises
    ------
    ImportError
        If Ray is not installed.
    ConnectionError
        If the address does not answer, or if a started cluster does not listen on loopback.
    ScenarioError
        If a case has a kernel's end.
    """

    def __init__(
        self,
        sweep: Sweep,
        *,
        address: str | None = None,
        workers: int = 0,
        task_s: float = TASK_S,
    ) -> None:
        sweep.check_simulated()
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        if not address:
            os.environ.setdefault(_HAS_OTHER_MACHINES, "0")
        try:
            import ray
        except ImportError as missing:
            raise ImportError("Ray is not installed: pip install 'netspurt[cluster]'") from missing
        if address:
            _knock(address)
        self._ray: Any = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            here: dict[str, Any] = {"num_cpus": workers or None, "include_dashboard": False}
            options = {"address": address} if address else here
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
            if not address:
                _check_loopback(ray)
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._key = f"{sweep.fingerprint}-{os.getpid()}-{id(self)}"
        self._plan = ray.put(sweep)
        self._task: Any = ray.remote(max_retries=_RETRIES, num_cpus=1)(run_chunks)
        self._cases = max(1, math.ceil(task_s / max(seconds_a_case(sweep), 1e-6)))
        self._waiting: list[Chunk] = []
        self._under_way: dict[Any, list[Chunk]] = {}
        self._chunks_a_task = 1

    @property
    def room(self) -> int:
        """The number of chunks that the engine should have at once: two tasks per worker."""
        return max(2 * self.workers * self._chunks_a_task, 2 * self.workers)

    def prepare(self, chunk: int) -> None:
        """Set the number of cases of a chunk."""
        self._chunks_a_task = max(1, math.ceil(self._cases / chunk))

    def submit(self, chunk: Chunk) -> None:
        """Schedule a chunk. Several chunks form a task."""
        self._waiting.append(chunk)
        if len(self._waiting) >= self._chunks_a_task:
            self._send()

    def _send(self) -> None:
        reference = self._task.remote(self._key, [self._plan], self._waiting)
        self._under_way[reference] = self._waiting
        self._waiting = []

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Yield finished chunks until none is left."""
        while self._waiting or self._under_way:
            if self._waiting and len(self._under_way) < self.workers:
                self._send()
            ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_POLL_S)
            for reference in ready:
                outcomes = self._ray.get(reference)
                yield from zip(self._under_way.pop(reference), outcomes, strict=True)

    def cancel(self) -> None:
        """Cancel running tasks, and stop a cluster that was started for this sweep."""
        for reference in self._under_way:
            self._ray.cancel(reference, force=True)
        self._under_way.clear()
        self._waiting.clear()
        if self._ours:
            self._ray.shutdown()


def _check_loopback(ray: Any) -> None:
    """End a cluster that does not listen on loopback only.

    This happens if Ray was imported before its variable was set.

    Raises
    ------
    ConnectionError
        If the cluster listens at another address.
    """
    listens = ray.util.get_node_ip_address()
    if not ipaddress.ip_address(listens).is_loopback:
        ray.shutdown()
        raise ConnectionError(
            f"Ray would listen at {listens}, where others may run code: set "
            f"{_HAS_OTHER_MACHINES}=0 before Ray is imported, or name the address of a cluster "
            "that you protect"
        )


def _knock(address: str) -> None:
    """Check that an address answers. Ray itself would retry for minutes.

    Raises
    ------
    ConnectionError
        If the host and port do not answer.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error}") from error
