"""Tests estimators that are chosen by name, and estimators that are written in Python.

An estimator computes the retransmission timer from round trips.
"""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netspurt as ns
from netspurt import _core
from netspurt.estimators import Check, CheckError, Sample, by_name

from conftest import ROOT

NAN = float("nan")


class Thrice:
    """Sets the timer to `k` times the last round trip, and doubles it at each timeout."""

    def __init__(self, k: float = 3.0) -> None:
        self.k, self.last, self.backoff = k, 0.1, 1

    def on_sample(self, sample: Sample) -> None:
        self.last, self.backoff = sample.rtt, 1

    def on_timeout(self, now: float) -> None:
        del now
        self.backoff = min(self.backoff * 2, 64)

    def rto(self) -> float:
        return self.k * self.last * self.backoff


def drive(estimator: object, *steps: float) -> list[float]:
    """Return the timer after each step. A step is a round trip [s], or NaN for a timeout."""
    return list(_core.drive(estimator, np.array(steps)))


# By RFC 6298 §2.2 and §2.3, the RTO is 100 ms + 4 · 50 ms after a round trip of 100 ms. After
# another round trip of 180 ms, the RTO is 110 ms + 4 · 57.5 ms. A timeout doubles the RTO.
def test_an_algorithm_of_the_core_is_made_from_its_text() -> None:
    timer = ns.estimator("rfc6298:min=0s,max=1 h")
    assert isinstance(timer, ns.Estimator)
    assert (timer.algorithm, str(timer)) == ("rfc6298", "rfc6298:min=0s,max=3600s")
    assert dict(timer.settings)["alpha"] == "1/8"
    timer.on_sample(0.1)
    assert timer.rto() == pytest.approx(0.3)
    timer.on_sample(Sample(0.18))
    assert timer.state == pytest.approx((0.11, 0.0575, 1))
    timer.on_timeout()
    assert timer.rto() == pytest.approx(0.68)
    timer.on_sample(Sample(5.0, ambiguous=True))
    assert timer.state[2] == 2
    timer.on_spurious()
    # RFC 4015 §3.5: the backoff stays until the next sample.
    assert timer.deadline(10.0, 9.0, 3) == pytest.approx(10.68)


@pytest.mark.parametrize("remake", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_a_fresh_copy_keeps_the_constants_and_has_no_samples(
    remake: Callable[[ns.Estimator], ns.Estimator],
) -> None:
    timer = ns.Estimator("linux:rto_min=50ms")
    timer.on_sample(0.2)
    remade = remake(timer)
    assert (str(remade), remade.rto()) == ("linux:rto_min=50ms", 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linus", "no timer is called `linus`: did you mean `linux`?"),
        ("mills:fallin=1/2", "mills: no key `fallin`: did you mean `falling`?"),
        (
            "fixed:rto=9s",
            "fixed: `rto`: 9 s is above `max`, 3 s: write at most 3 s, or raise `max`",
        ),
        ("nowhere.py:Peak", "no file `nowhere.py`: write its path from the current folder"),
        ("math:Peak", "`math` has no class `Peak`: write the name of a class in it"),
        ("no_such_module:Peak", "no module `no_such_module`:"),
        ("test_estimators:Thrice:k", "`k` is not a setting: write key=value, each key once"),
        ("test_estimators:Thrice:j=3", "`Thrice` cannot be made:"),
    ],
)
def test_an_invalid_text_raises_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ns.EstimatorError) as caught:
        ns.estimator(text)
    assert str(caught.value).startswith(message)
    assert caught.value.fix


@pytest.mark.parametrize("make", [lambda: Sample(-1), lambda: Sample(0.1, source="guess")])
def test_an_invalid_sample_is_an_error(make: Callable[[], Sample]) -> None:
    with pytest.raises(ValueError, match="write"):
        make()


@pytest.mark.parametrize("name", [*_core.ALGORITHMS, "rfc2988", "mills-single", "mills:karn=true"])
def test_every_algorithm_of_the_core_keeps_the_contract_of_estimators(name: str) -> None:
    ns.check_estimator(name).raise_if_failed()


def test_the_text_of_an_estimator_may_name_its_class_by_module_or_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from test_estimators import Thrice\nclass Mine(Thrice): pass\n")
    for text in ("test_estimators:Thrice:k=2.5", f"{file}:Mine:k=2.5"):
        assert drive(ns.estimator(text), 0.2, NAN, 0.1) == pytest.approx([0.5, 1.0, 0.25])
        ns.check_estimator(text).raise_if_failed()
    made = [type(ns.estimator(f"{file}:Mine")) for _ in range(2)]
    assert made[0] is made[1]


def test_a_class_that_keeps_the_rules_passes_the_check() -> None:
    assert ns.check_estimator(Thrice).raise_if_failed().ok


def broken(**methods: Callable[..., object]) -> type[Thrice]:
    """Return a class like `Thrice` with other methods. It cannot be imported by its name."""
    return type("Broken", (Thrice,), methods)


#: A value that all estimators of a class share. The rules forbid such a value.
SHARED: list[float] = [0.1]


@pytest.mark.parametrize(
    ("methods", "rule"),
    [
        ({"on_timeout": None}, "it has on_sample, on_timeout and rto"),
        ({"rto": lambda _: 0.0}, "its first timer is above zero and finite"),
        ({"rto": lambda self: NAN if abs(self.last - 0.1) > 0.01 else 1.0}, "its timer stays"),
        ({"bounds": (1.0, 2.0)}, "its timer stays within its bounds"),
        ({"rto": lambda self: 1 / (86_400 - self.last)}, "it survives the shortest"),
        ({"on_timeout": lambda self, _: setattr(self, "last", self.last / 2)}, "no timeout"),
        ({"rto": lambda _: time.perf_counter()}, "the same input"),
        (
            {"rto": lambda self: self.__dict__.update(last=self.last * 1.5) or self.last},
            "two calls of rto",
        ),
        (
            {
                "on_sample": lambda _, s: SHARED.__setitem__(0, max(SHARED[0], s.rtt)),
                "rto": lambda _: SHARED[0],
            },
            "the same input",
        ),
        ({"on_sample": lambda self, _: setattr(self, "last", self.last + 1)}, "with equal samples"),
    ],
)
def test_the_error_names_the_rule_that_a_class_breaks(
    methods: dict[str, object], rule: str
) -> None:
    SHARED[0] = 0.1
    check = ns.check_estimator(type("Broken", (Thrice,), methods))
    assert any(failed.startswith(rule) for failed in check.failed), check
    with pytest.raises(CheckError, match="FAILED"):
        check.raise_if_failed()


def test_a_class_that_cannot_be_imported_fails_the_check() -> None:
    check = ns.check_estimator(broken())
    assert list(check.failed) == ["its class can be imported by its module and name"]
    assert isinstance(check, Check)


def test_an_exception_in_an_estimator_names_the_method_and_the_sample() -> None:
    def fails(self: Thrice, sample: Sample) -> None:
        if sample.rtt > 0.5:
            raise ZeroDivisionError("mine")
        self.last = sample.rtt

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        drive(broken(on_sample=fails)(), 0.1, 0.2, 0.9, 0.1)
    assert caught.value.__notes__ == ["in `on_sample` of the estimator, sample 3"]
    with pytest.raises(ValueError, match="rto") as caught_value:
        drive(broken(rto=lambda _: "soon")(), 0.1)
    assert caught_value.value.__notes__ == ["in `rto` of the estimator, before any sample"]
    with pytest.raises(TypeError, match="no method `on_sample`"):
        drive(object(), 0.1)


def test_rfc_6298_in_python_and_in_the_core_has_the_same_rtos() -> None:
    class Rfc6298(Thrice):
        srtt: float | None = None
        rttvar = 0.0

        def on_sample(self, sample: Sample) -> None:
            if self.srtt is None:
                self.srtt, self.rttvar = sample.rtt, sample.rtt / 2
            else:
                self.rttvar += (abs(self.srtt - sample.rtt) - self.rttvar) / 4
                self.srtt += (sample.rtt - self.srtt) / 8
            self.backoff = 1

        def rto(self) -> float:
            timer = 1.0 if self.srtt is None else self.srtt + max(0.001, 4 * self.rttvar)
            return min(max(timer, 1.0) * self.backoff, 60.0)

    steps = np.random.default_rng(1).exponential(1.0, 500)
    steps[::7] = NAN
    own = _core.drive(Rfc6298(), steps)
    np.testing.assert_allclose(own, _core.drive(ns.estimator("rfc6298"), steps), rtol=1e-8)


def test_the_text_after_the_first_example_on_the_page_on_estimators_is_short() -> None:
    page = (ROOT / "docs" / "writing-an-estimator.md").read_text()
    prose = [line for line in page.split("```")[2].splitlines() if line]
    assert len(prose) < 40


@pytest.mark.parametrize("algorithm", [*_core.ALGORITHMS, "rfc2988"])
def test_a_flow_may_use_any_algorithm_by_name(algorithm: str) -> None:
    words = {"profile": "rfc-2026", "tcp.rto.estimator": algorithm}
    flow = {f"flows.transfer.{key}": value for key, value in words.items()}
    scenario = ns.new_scenario().replace({**flow, "stop": "20 s"})
    run = scenario.run()
    assert f'estimator = "{algorithm}"' in run.scenario
    assert int(run.flows["retransmissions"][0]) > 0


def test_different_estimators_of_the_same_name_get_numbers() -> None:
    mills = type("mills", (), {})
    assert by_name([mills, "mills", "mills:g=2", mills]) == {"mills": mills, "mills#2": "mills"}
