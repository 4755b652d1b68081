"""The engine that runs a sweep's cases with Ray, on several machines.

It needs `pip install 'netspurt[cluster]'`. A case is one combination of the sweep's values, with
one seed. A chunk is a series of consecutive cases. Several chunks form a task, which a worker (a
process of Ray) does.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import os
import socket
from collections.abc import Iterator
from typing import Any

from netspurt import _core
from netspurt.sweep.driver import seconds_per_case
from netspurt.sweep.engines import Chunk
from netspurt.sweep.plan import Sweep

#: The minimum duration of most tasks, in seconds. A shorter task would spend too large a part of
#: its time on the transfer to a worker.
TASK_S = 1.0
#: The maximum number of times that a task is repeated because its worker or node died.
_RETRIES_MAX = 10
#: The maximum duration of one wait, in seconds; interrupts are handled after it.
_POLL_S = 0.1
#: The time within which a cluster must answer, in seconds.
_ANSWER_S = 10.0

#: Ray's environment variable that allows a cluster of several machines. If it is 0, a cluster
#: listens on loopback only. On Linux, no other setting does that, because Ray replaces a loopback
#: address by the machine's address.
_SEVERAL_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"

#: The sweep that this worker read last, by its key. It is kept, so that the worker does not read it
#: again for each task.
_last_sweep: dict[str, Sweep] = {}


class NodeDiedError(RuntimeError):
    """The node of a worker died while the worker read the sweep. The task is repeated elsewhere."""


def run_chunks(key: str, plan: list[Any], chunks: list[Chunk]) -> list[_core.Outcome]:
    """Run chunks in a worker; `plan` holds Ray's reference to the sweep.

    Raises
    ------
    NodeDiedError
        If the worker loses its connection to Ray before it has the sweep.
    """
    import ray

    if key not in _last_sweep:
        _last_sweep.clear()
        try:
            _last_sweep[key] = ray.get(plan[0])
        except OSError as lost:
            # If a node dies, its workers may run for a moment longer, without a connection to Ray.
            raise NodeDiedError("the connection of a worker to its node was lost") from lost
    return [_last_sweep[key].run_chunk(chunk.first, chunk.count) for chunk in chunks]


class Ray:
    """The engine on a Ray cluster.

    A chunk is a series of consecutive cases. Several chunks form a task, so that most tasks take at
    least `task_s`. If the worker or node of a task dies, the task is repeated elsewhere, and its
    result has the same bytes.

    Parameters
    ----------
    sweep
        The sweep whose chunks are run.
    address
        The cluster's address. By default, a cluster is started on this machine and stopped at the
        end of the sweep. The started cluster listens on loopback only, because anyone who reaches
        its ports can run code. If this process already uses a cluster, the engine uses that
        cluster. All machines of a cluster need this version of netspurt.
    workers
        The number of parallel tasks; 0 for one per processor of the cluster.
    task_s
        The approximate minimum duration of a task in seconds.

    Raises
    ------
    ImportError
        If Ray is not installed.
    ConnectionError
        If the address does not answer, or if a started cluster does not listen on loopback.
    ScenarioError
        If an end of a flow in a case runs the kernel's TCP.
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
            os.environ.setdefault(_SEVERAL_MACHINES, "0")
        try:
            import ray
        except ImportError as missing:
            raise ImportError("Ray is not installed: pip install 'netspurt[cluster]'") from missing
        if address:
            _check_answers(address)
        self._ray: Any = ray
        self._must_shut_down = not ray.is_initialized()
        if self._must_shut_down:
            # Without "local", Ray looks for a running cluster first, and fails if it finds one.
            here = {"address": "local", "num_cpus": workers or None, "include_dashboard": False}
            options: dict[str, Any] = {"address": address} if address else here
            ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
            if not address:
                _check_loopback(ray)
        self.workers = workers or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._key = f"{sweep.fingerprint}-{os.getpid()}-{id(self)}"
        self._plan = ray.put(sweep)
        remote = self._ray.remote(
            max_retries=_RETRIES_MAX, retry_exceptions=[NodeDiedError], num_cpus=1
        )
        self._task: Any = remote(run_chunks)
        self._cases_per_task = max(1, math.ceil(task_s / max(seconds_per_case(sweep), 1e-6)))
        self._next_task: list[Chunk] = []
        self._running: dict[Any, list[Chunk]] = {}
        self._chunks_per_task = 1

    @property
    def room(self) -> int:
        """How many chunks must be submitted so that no worker is idle: two tasks per worker."""
        return 2 * self.workers * self._chunks_per_task

    def prepare(self, chunk: int) -> None:
        """Set the number of chunks per task, from the number of cases in a chunk."""
        self._chunks_per_task = max(1, math.ceil(self._cases_per_task / chunk))

    def submit(self, chunk: Chunk) -> None:
        """Add a chunk to the next task, and start that task when it has enough chunks."""
        self._next_task.append(chunk)
        if len(self._next_task) >= self._chunks_per_task:
            self._start_task()

    def _start_task(self) -> None:
        reference = self._task.remote(self._key, [self._plan], self._next_task)
        self._running[reference] = self._next_task
        self._next_task = []

    def as_completed(self) -> Iterator[tuple[Chunk, _core.Outcome]]:
        """Yield finished chunks until all submitted chunks are finished.

        If a worker is idle, a task starts even with fewer chunks than usual.
        """
        while self._next_task or self._running:
            if self._next_task and len(self._running) < self.workers:
                self._start_task()
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=_POLL_S)
            for reference in ready:
                outcomes = self._ray.get(reference)
                yield from zip(self._running.pop(reference), outcomes, strict=True)

    def cancel(self) -> None:
        """Cancel all tasks. Stop or leave the cluster, if this engine started or joined it."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        self._next_task.clear()
        if self._must_shut_down:
            self._ray.shutdown()


def _check_loopback(ray: Any) -> None:
    """Stop the cluster if it listens at another address than loopback.

    The cluster listens at another address if Ray was imported before `_SEVERAL_MACHINES` was set.

    Raises
    ------
    ConnectionError
        If the cluster listens at another address.
    """
    listen_address = ray.util.get_node_ip_address()
    if not ipaddress.ip_address(listen_address).is_loopback:
        ray.shutdown()
        raise ConnectionError(
            f"Ray listened at {listen_address}, where other machines could run code, and was "
            f"stopped: set {_SEVERAL_MACHINES}=0 before Ray is imported, or give the address of a "
            "cluster that you protect"
        )


def _check_answers(address: str) -> None:
    """Check that an address answers, because Ray itself would retry for minutes.

    An address without a port, such as `auto`, is not checked.

    Raises
    ------
    ConnectionError
        If the host and port do not answer.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address}: {error}") from error
