"""Compares the profile `linux-6` and this machine's kernel with stored runs of a Linux kernel.

A case is one path and one transfer. A stored row of a case has the retransmissions of the kernel
and of the model, which is the profile `linux-6`. A conversation is a series of requests and replies
over a path with losses. VALIDATION.md explains the differences between kernel and model.
"""

from __future__ import annotations

import csv
import json
import platform
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from netspurt import _core
from netspurt.analysis.compare import events
from netspurt.scenario import Scenario, as_toml

from conftest import ROOT
from lateness import real_time

#: The folder with the stored runs of the kernel.
AUTHORITY = ROOT / "authorities" / "linux"
sys.path.insert(0, str(AUTHORITY))

from beside_cases import CASES, scenario  # noqa: E402
from conversations import CONVERSATIONS, Beside, filed  # noqa: E402

#: A tick of the kernel's clock [ms].
JIFFY_MS = 4.0
#: The maximum number of cases in which this machine's kernel may differ from the stored runs.
MAY_DIFFER = 2


def read(folder: Path) -> list[dict[str, str]]:
    """Return the rows of `beside.csv` in a folder, one for each case."""
    with (folder / "beside.csv").open(newline="") as file:
        return list(csv.DictReader(file))


#: The stored rows.
FILED = read(AUTHORITY)


def test_at_least_45_cases_have_the_same_retransmissions_in_kernel_and_model() -> None:
    assert [(row["group"], row["case"]) for row in FILED] == [
        (group, name) for group, cases in CASES.items() for name in cases
    ]
    assert len(FILED) >= 50
    equal = [row["kernel"] == row["model"] for row in FILED]
    assert equal == [row["equal"] == "True" for row in FILED]
    assert sum(equal) >= 45


def test_validation_md_names_each_case_whose_timers_differ_by_more_than_a_jiffy() -> None:
    explained = (ROOT / "VALIDATION.md").read_text()
    assert sum(int(row["rtos"]) for row in FILED) > 500
    for row in FILED:
        near = float(row["rto_off_ms"]) <= JIFFY_MS
        assert near or f"`{row['case']}`" in explained, row


def test_at_least_18_conversations_agree_with_a_run_of_the_kernel() -> None:
    """The rows of the table in VALIDATION.md must be the rows of the present model."""
    text, kernel = (ROOT / "VALIDATION.md").read_text(), filed()
    comparisons = [
        Beside.of(conversation, kernel[conversation.name]) for conversation in CONVERSATIONS
    ]
    assert all(beside.row() in text for beside in comparisons)
    assert sum(beside.agree > 0 for beside in comparisons) >= 18


def test_validation_md_names_each_case_with_different_retransmissions() -> None:
    explained = (ROOT / "VALIDATION.md").read_text()
    for row in FILED:
        assert row["equal"] == "True" or f"`{row['case']}`" in explained, row


@pytest.mark.parametrize("group", CASES)
def test_the_profile_linux_6_still_has_the_stored_numbers_of_retransmissions_by_cause(
    group: str,
) -> None:
    seed = json.loads((AUTHORITY / "beside.json").read_text())["seed"]
    text = "\n".join(f"{k} = {as_toml(v)}" for k, v in scenario(group, "model", seed).items())
    segments = Scenario.parse(text, name=group).run().segments
    for row in (row for row in FILED if row["group"] == group):
        seen = events(segments, row["case"], f"{row['case']}-a")
        causes = Counter(event.cause for event in seen if event.cause)
        found = " ".join(f"{cause}:{n}" for cause, n in sorted(causes.items())) or "none"
        assert found == row["model"], row


@real_time
def test_at_most_two_cases_of_this_kernel_differ_from_stored_runs(
    tmp_path: Path,
) -> None:
    capabilities = {name: (available, why) for name, available, why, _ in _core.capabilities()}
    available, why = capabilities["user and network namespaces"]
    if not available:
        pytest.skip(f"no namespaces: {why}")
    filed = json.loads((AUTHORITY / "beside.json").read_text())["release"]
    if platform.release().split(".")[:2] != filed.split(".")[:2]:
        pytest.skip(f"the kernel is Linux {platform.release()}, but the stored runs are of {filed}")
    words = [sys.executable, str(AUTHORITY / "beside.py"), "--group", "lists"]
    result = subprocess.run(
        [*words, "--to", str(tmp_path)], capture_output=True, text=True, check=False
    )
    last = "".join(result.stderr.splitlines()[-1:])
    if result.returncode != 0 and "too late" in last:
        pytest.skip(last)
    assert result.returncode == 0, result.stderr
    kernel = {row["case"]: row["kernel"] for row in FILED if row["group"] == "lists"}
    different = [row for row in read(tmp_path) if row["kernel"] != kernel[row["case"]]]
    assert len(different) <= MAY_DIFFER, different
