"""Tests that a sweep on a cluster writes the same files as a sweep in threads.

Ray is a library that runs tasks on the nodes of a cluster. A node is a machine or, in these tests,
a group of processes on this machine. Each node has worker processes. The driver is the process that
runs the sweep. The results must be the same even if a worker or a node dies.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

import netspurt as ns
from netspurt.sweep import Sweep, Threads, open_sweep, run_sweep

from lateness import TRIES
from test_sweep import LOSSY

T = TypeVar("T")

#: Ray gives up with one of these messages if a start takes 30 s. Ray has no setting for this limit.
GAVE_UP = ("The current node timed out during startup", "Timed out while waiting for nodes to join")

# In other programs, netspurt's module for Ray sets this variable before it imports Ray. Here the
# tests import Ray first, so they set the variable themselves.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"

ray: Any = pytest.importorskip(
    "ray", reason="Ray is not installed: pip install 'netspurt[cluster]'"
)

# Ray does not always close its sockets and files before Python collects them as garbage.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def long_sweep() -> Sweep:
    """Return a sweep that runs long enough for a test to kill a process meanwhile."""
    text = LOSSY.replace("seeds = 20", "seeds = 400").replace('stop = "20 s"', 'stop = "60 s"')
    return Sweep.of(ns.Scenario.parse(text.replace("100 segments", "2000 segments"), "x.toml"))


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run the long sweep in threads; return the digest of its cases."""
    folder, _ = run_sweep(long_sweep(), tmp_path_factory.mktemp("wanted") / "s")
    return folder.read().digest()


def in_time(start: Callable[[], T], end: Callable[[], object]) -> T:
    """Return the result of the function `start`.

    If Ray gave up, the function `end` is called, and then `start` again. The test is skipped if Ray
    gives up each time.
    """
    for attempt in range(1, TRIES + 1):
        try:
            return start()
        except Exception as error:
            message = str(error)
            end()
            if not message.startswith(GAVE_UP):
                raise
            print(f"attempt {attempt} of {TRIES}: {message}")
    pytest.skip(f"Ray gave up {TRIES} times: {message}")


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[Any]:
    """Start two nodes on this machine. The driver is on the first node.

    The last test that uses the nodes kills the second node.
    """
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
    cluster: Any = Cluster()

    def start() -> Any:
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20, include_dashboard=False)
        second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        ray.init(address=cluster.address, log_to_driver=False)
        cluster.wait_for_nodes()
        return second

    def end() -> None:
        ray.shutdown()
        cluster.shutdown()

    yield cluster, in_time(start, end)
    end()


def workers_of(node: Any) -> list[int]:
    """Return the ids of a node's worker processes, which run groups of cases.

    Their parent is the raylet, which is Ray's process on the node.
    """
    raylet = node.all_processes["raylet"][0].process.pid
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if parent == raylet and words.startswith(b"ray::run_chunks"):
                found.append(int(entry.name))
    return found


def sweep_while(place: Path, act: Callable[[], bool]) -> Path:
    """Run the long sweep on Ray, call `act` meanwhile, and return the sweep's folder.

    When the sweep has written cases, the function `act` is called until it returns True. On a busy
    machine, the sweep may end before `act` returns True. Then another sweep is run. The test is
    skipped if `TRIES` sweeps end too early.
    """
    for attempt in range(TRIES):
        out = place / f"s{attempt}"
        if acts_in_time(out, act):
            return out
    return pytest.skip(f"the machine was too busy: {TRIES} sweeps ended before the test could act")


def acts_in_time(out: Path, act: Callable[[], bool]) -> bool:
    """Run the long sweep on Ray. Return True if the function `act` returned True meanwhile."""
    from netspurt.sweep.cluster import Ray

    acted: list[int] = []

    def later() -> None:
        for _ in range(2000):
            there = out.exists() and (out / "cases").exists() and any((out / "cases").iterdir())
            if there and act():
                acted.append(len(open_sweep(out).there()))
                return
            time.sleep(0.01)

    thread = threading.Thread(target=later)
    thread.start()
    folder, _ = run_sweep(long_sweep(), out, chunk=25, engine=partial(Ray, task_s=0.2))
    thread.join()
    return bool(acted) and acted[0] < len(list(folder.chunks()))


def test_a_cluster_that_netspurt_starts_makes_the_same_files_as_threads(tmp_path: Path) -> None:
    from netspurt.sweep.cluster import Ray

    sweep = Sweep.of(ns.Scenario.parse(LOSSY, "x.toml"))
    contents = []
    for name, engine in (("ray", partial(Ray, workers=2)), ("threads", Threads)):
        in_time(partial(run_sweep, sweep, tmp_path / name, chunk=7, engine=engine), ray.shutdown)
        files = sorted((tmp_path / name / "cases").iterdir())
        contents.append([(file.name, file.read_bytes()) for file in files])
    assert len(contents[0]) == 18
    assert contents[0] == contents[1]
    assert not ray.is_initialized()


def test_a_cluster_that_netspurt_starts_listens_on_loopback_only() -> None:
    def listen() -> list[str]:
        result = subprocess.run(
            [sys.executable, "-c", "import listening; listening.show()"],
            cwd=Path(__file__).parent,
            env={**os.environ, "RAY_ADDRESS": "127.0.0.1:9"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if result.returncode != 0:
            # The last line of a traceback has the type of the error before its message.
            raise RuntimeError(result.stderr.strip().splitlines()[-1].partition(": ")[2])
        return result.stdout.split()

    listeners = in_time(listen, lambda: None)
    assert len(listeners) >= 4, (
        "at least four sockets of the driver, the node and a worker must listen"
    )
    assert set(listeners) <= {"127.0.0.1", "::1"}


def test_a_cluster_that_listens_beyond_loopback_is_shut_down() -> None:
    from netspurt.sweep.cluster import _check_loopback

    class Elsewhere:
        """Imitates Ray with a node at an address of the network."""

        ended = False

        class util:  # noqa: N801 - Ray uses this name
            @staticmethod
            def get_node_ip_address() -> str:
                return "192.0.2.7"

        def shutdown(self) -> None:
            self.ended = True

    elsewhere = Elsewhere()
    with pytest.raises(ConnectionError, match=r"Ray listened at 192\.0\.2\.7"):
        _check_loopback(elsewhere)
    assert elsewhere.ended


def test_an_address_without_a_cluster_is_reported(tmp_path: Path) -> None:
    from netspurt.sweep.cluster import Ray

    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(ConnectionError, match=f"no Ray cluster answers at {address}"):
            run_sweep(long_sweep(), tmp_path / "s", engine=partial(Ray, address=address))


def test_a_sweep_of_listed_cases_runs_on_a_cluster(tmp_path: Path, two_nodes: Any) -> None:
    from netspurt.sweep.cluster import Ray

    del two_nodes
    base = ns.Scenario.parse(LOSSY.partition("[sweep]")[0], "x.toml")
    cases = [({"rate": n}, base.replace({"links.path.rate": f"{n} Mbit/s"})) for n in (1, 2, 3)]
    sweep = Sweep.listed(cases, seeds=5)
    far, _ = run_sweep(sweep, tmp_path / "ray", engine=Ray)
    near, _ = run_sweep(sweep, tmp_path / "threads")
    assert far.read().digest() == near.read().digest()


def test_a_worker_that_lost_its_node_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from netspurt.sweep.cluster import NodeDiedError, run_chunks

    def broken(_: object) -> None:
        raise BrokenPipeError("Broken pipe")

    monkeypatch.setattr(ray, "get", broken)
    with pytest.raises(NodeDiedError, match="connection of a worker to its node was lost"):
        run_chunks("a key", [None], [])


def test_a_task_whose_node_died_is_repeated(
    tmp_path: Path, two_nodes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from netspurt.sweep import cluster

    del two_nodes
    died, run_chunks, error = tmp_path / "died", cluster.run_chunks, cluster.NodeDiedError

    def dies_once(*of: Any) -> Any:
        if not died.exists():
            died.touch()
            raise error("the node died")
        return run_chunks(*of)

    monkeypatch.setattr(cluster, "run_chunks", dies_once)
    sweep = Sweep.of(ns.Scenario.parse(LOSSY, "x.toml"))
    far, _ = run_sweep(sweep, tmp_path / "ray", engine=cluster.Ray)
    near, _ = run_sweep(sweep, tmp_path / "threads")
    assert died.exists()
    assert far.read().digest() == near.read().digest()


def test_a_killed_worker_does_not_change_the_results(
    tmp_path: Path, two_nodes: Any, wanted: str
) -> None:
    _, second = two_nodes

    def kill() -> bool:
        workers = workers_of(second)
        for process in workers:
            os.kill(process, signal.SIGKILL)
        return bool(workers)

    out = sweep_while(tmp_path, kill)
    assert open_sweep(out).read().digest() == wanted


def test_a_killed_node_does_not_change_the_results(
    tmp_path: Path, two_nodes: Any, wanted: str
) -> None:
    cluster, second = two_nodes

    def kill() -> bool:
        if not workers_of(second):
            return False
        cluster.remove_node(second, allow_graceful=False)
        return True

    out = sweep_while(tmp_path, kill)
    assert open_sweep(out).read().digest() == wanted


def test_a_start_is_repeated_only_if_ray_gave_up() -> None:
    outcomes = [Exception(GAVE_UP[0]), TimeoutError(GAVE_UP[1]), "started"]
    ended = []

    def start() -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert in_time(start, lambda: ended.append("ended")) == "started"
    assert ended == ["ended"] * 2
    outcomes[:] = [OSError("no space left"), "started"]
    with pytest.raises(OSError, match="no space left"):
        in_time(start, lambda: None)
    outcomes[:] = [Exception(GAVE_UP[0])] * TRIES
    with pytest.raises(pytest.skip.Exception, match="Ray gave up 3 times"):
        in_time(start, lambda: None)
