"""Tests how the chunks of a sweep become tasks of a cluster.

A chunk is a number of successive cases. A task is a number of chunks that a worker of the cluster
runs. Ray is the library that runs tasks on a cluster. In these tests an imitation of Ray runs the
tasks in this process.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_sweep_folders import small

from netspurt.sweep import Chunk, Sweep, cluster, run_sweep
from netspurt.sweep.cluster import Ray, _check_answers, run_chunks


class FakeRay:
    """Imitates the functions of Ray that netspurt calls. The function `get` runs a task."""

    def __init__(self, cpus: float = 4, *, joined: bool = True, listens: str = "127.0.0.1") -> None:
        self.cpus, self.joined = cpus, joined
        self.util = SimpleNamespace(get_node_ip_address=lambda: listens)
        self.started: dict[str, Any] = {}
        self.tasks: list[list[Chunk]] = []
        self.cancelled: list[int] = []
        self.waited: list[int] = []
        self.ended = 0

    def is_initialized(self) -> bool:
        return self.joined

    def init(self, **options: Any) -> None:
        self.started = options

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": self.cpus} if self.cpus else {}

    def put(self, sweep: Sweep) -> Sweep:
        return sweep

    def get(self, reference: Any) -> Any:
        return reference if isinstance(reference, Sweep) else self.of(reference)

    def of(self, number: int) -> Any:
        return self.run(self.key, self.plan, self.tasks[number])

    def remote(self, **_: Any) -> Callable[..., Any]:
        def submit(key: str, plan: list[Any], chunks: list[Chunk]) -> int:
            self.key, self.plan = key, plan
            self.tasks.append(list(chunks))
            return len(self.tasks) - 1

        def decorate(function: Callable[..., Any]) -> Any:
            self.run = function
            return SimpleNamespace(remote=submit)

        return decorate

    def wait(self, running: list[int], **_: Any) -> tuple[list[int], list[int]]:
        self.waited.append(len(running))
        return running[-1:], running[:-1]

    def cancel(self, reference: int, *, force: bool) -> None:
        assert force
        self.cancelled.append(reference)

    def shutdown(self) -> None:
        self.ended += 1


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[FakeRay, Ray]]:
    """Return a function that starts netspurt's engine for Ray on a `FakeRay`.

    The engine runs the cases of a sweep. It expects that a case takes 0.25 s.
    """
    others = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    monkeypatch.setattr(os, "environ", others)
    monkeypatch.setattr(cluster, "seconds_per_case", lambda _: 0.25)
    monkeypatch.setattr(cluster, "_last_sweep", {})

    def started(fake_ray: FakeRay, **options: Any) -> tuple[FakeRay, Ray]:
        monkeypatch.setitem(sys.modules, "ray", fake_ray)
        return fake_ray, Ray(small(), **options)

    return started


Start = Callable[..., tuple[FakeRay, Ray]]


@pytest.mark.parametrize(
    # A case takes a quarter of a second, so a task of a second has four cases.
    ("task_s", "chunk", "chunks_per_task"),
    [(1.0, 1, 4), (1.0, 3, 2), (1.0, 4, 1), (1.0, 9, 1), (0.9, 1, 4), (0.1, 1, 1), (60.0, 2, 120)],
)
def test_a_task_gets_enough_chunks_to_last_for_its_minimum_time(
    start: Start, task_s: float, chunk: int, chunks_per_task: int
) -> None:
    fake_ray, engine = start(FakeRay(cpus=3), task_s=task_s)
    engine.prepare(chunk)
    assert engine.room == 2 * 3 * chunks_per_task
    for n in range(chunks_per_task - 1):
        engine.submit(Chunk(n * chunk, chunk))
    assert fake_ray.tasks == []
    engine.submit(Chunk(99, chunk))
    assert [len(chunks) for chunks in fake_ray.tasks] == [chunks_per_task]


@pytest.mark.parametrize(
    ("cpus", "workers", "used"), [(8, 0, 8), (8, 2, 2), (0, 0, 1), (0.5, 0, 1)]
)
def test_there_is_a_worker_for_each_processor_unless_a_number_is_given(
    start: Start, cpus: float, workers: int, used: int
) -> None:
    _, engine = start(FakeRay(cpus), workers=workers)
    assert engine.workers == used


def test_a_sweep_in_tasks_has_the_same_results_as_in_threads(start: Start, tmp_path: Path) -> None:
    fake_ray = FakeRay(cpus=2)
    start(fake_ray)
    near, _ = run_sweep(small(), tmp_path / "near", chunk=1)
    far, tally = run_sweep(small(), tmp_path / "far", chunk=1, engine=Ray)
    assert far.read().digest() == near.read().digest()
    assert tally.done == 12
    # The sweep has twelve cases, which become three tasks of four cases.
    assert sorted(map(len, fake_ray.tasks)) == [4, 4, 4]
    assert fake_ray.ended == 0, "a cluster that others started must not be stopped"


def test_an_idle_worker_gets_a_task_with_fewer_chunks_than_usual(start: Start) -> None:
    fake_ray, engine = start(FakeRay(cpus=2))
    engine.prepare(1)
    for n in range(6):
        engine.submit(Chunk(n, 1))
    assert [len(chunks) for chunks in fake_ray.tasks] == [4]
    done = [chunk.first for chunk, _ in engine.as_completed()]
    assert [len(chunks) for chunks in fake_ray.tasks] == [4, 2]
    assert fake_ray.waited == [2, 1], "both workers must be busy"
    assert sorted(done) == list(range(6))


def test_cancelled_tasks_are_forgotten_and_the_started_cluster_is_shut_down(start: Start) -> None:
    fake_ray, engine = start(FakeRay(joined=False))
    engine.prepare(2)
    for n in (0, 2, 4, 6, 8):
        engine.submit(Chunk(n, 2))
    engine.cancel()
    assert (fake_ray.cancelled, fake_ray.ended) == ([0, 1], 1)
    assert list(engine.as_completed()) == []


def test_a_cluster_is_started_for_loopback_only_or_joined_at_its_address(start: Start) -> None:
    fake_ray, _ = start(FakeRay(joined=False), workers=3)
    assert fake_ray.started["num_cpus"] == 3
    assert fake_ray.started["address"] == "local"
    assert os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] == "0"
    del os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"]
    fake_ray, _ = start(FakeRay(joined=False, listens="192.0.2.7"), address="auto")
    assert fake_ray.started["address"] == "auto"
    assert "num_cpus" not in fake_ray.started
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ
    with pytest.raises(ConnectionError, match=r"Ray listened at 192\.0\.2\.7"):
        start(FakeRay(joined=False, listens="192.0.2.7"))


def test_a_worker_reads_a_sweep_once_and_keeps_only_the_last_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_ray, read = FakeRay(), list[Sweep]()

    def get(plan: Sweep) -> Sweep:
        read.append(plan)
        return plan

    monkeypatch.setattr(fake_ray, "get", get)
    monkeypatch.setitem(sys.modules, "ray", fake_ray)
    monkeypatch.setattr(cluster, "_last_sweep", {})
    sweep = small()
    outcomes = [run_chunks(key, [sweep], [Chunk(3, 2), Chunk(0, 1)]) for key in ("a", "a", "b")]
    assert len(read) == 2
    assert list(cluster._last_sweep) == ["b"]
    expected = [sweep.run_chunk(3, 2)[0], sweep.run_chunk(0, 1)[0]]
    assert all([outcome[0] for outcome in both] == expected for both in outcomes)


@pytest.mark.parametrize("address", ["auto", "local", "ray://", "10.0.0.1:port", ":6379"])
def test_ray_itself_handles_addresses_without_a_host_or_port(address: str) -> None:
    _check_answers(address)


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "ray://localhost:{}"])
def test_an_address_with_a_host_and_a_port_is_tried_in_each_form(form: str) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = form.format(server.getsockname()[1])
        with pytest.raises(ConnectionError, match=f"^no Ray cluster answers at {address}: "):
            _check_answers(address)
        server.listen()
        _check_answers(address)


@pytest.mark.parametrize("port", [65536, 10**20])
def test_a_port_above_65535_is_reported_as_an_address_without_a_cluster(port: int) -> None:
    with pytest.raises(ConnectionError, match=rf"no Ray cluster answers at 127\.0\.0\.1:{port}"):
        _check_answers(f"127.0.0.1:{port}")
