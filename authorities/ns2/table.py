"""Stores ns-2's answers in random cases: the settings as JSON, the events as compressed CSV."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import NamedTuple

import drive

HERE = Path(__file__).parent
CASES = HERE / "random.json"
EVENTS = HERE / "random.csv.gz"


class Answer(NamedTuple):
    """A case, the kind of its tie ("" without a tie, see `ties.kind`), and ns-2's events in it."""

    case: dict[str, object]
    tie: str
    rows: list[drive.Row]


def write(answers: list[Answer]) -> None:
    """Write all answers; the same answers give the same bytes."""
    lines = [
        json.dumps({"events": len(answer.rows), "tie": answer.tie, "case": answer.case})
        for answer in answers
    ]
    CASES.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case", *drive.Row._fields))
    for number, answer in enumerate(answers):
        writer.writerows((number, *row) for row in answer.rows)
    EVENTS.write_bytes(gzip.compress(text.getvalue().encode(), 9, mtime=0))


def read() -> list[Answer]:
    """Return the answers that `write` stored."""
    rows: dict[int, list[drive.Row]] = {}
    with gzip.open(EVENTS, "rt", newline="") as file:
        for number, us, event, packet, ticks in list(csv.reader(file))[1:]:
            row = drive.Row(int(us), event, int(packet), int(ticks))
            rows.setdefault(int(number), []).append(row)
    return [
        Answer(entry["case"], entry["tie"], rows[number])
        for number, entry in enumerate(json.loads(CASES.read_text()))
    ]
