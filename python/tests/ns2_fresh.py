"""Compares netspurt with the network simulator ns-2 in random cases.

Run it as `python python/tests/ns2_fresh.py SEED COUNT`. A tie is two events at one instant. The
program prints how many cases agree in every event, and how many cases first differ at a tie.
It also prints each case with a difference that no tie explains.
"""

from __future__ import annotations

import sys
from collections import Counter

from ns2_exact import decided_by_doubles

from ns2_cases import cases, drive, first_difference, rows_of, scenario_of

__all__ = ["verdict"]


def verdict(case: dict[str, object]) -> str:
    """Return `same`, `tie` (first difference at a tie) or `clear` (difference without a tie)."""
    own_rows, ns2_rows = rows_of(scenario_of(case).run()), drive.run(case)
    if first_difference(own_rows, ns2_rows) is None:
        return "same"
    return "tie" if decided_by_doubles(case, own_rows, ns2_rows) else "clear"


def main() -> None:
    """Draw COUNT cases with SEED, compare them, and print the verdicts."""
    seed, count = (int(word) for word in sys.argv[1:])
    if not drive.available():
        sys.exit("ns2_fresh.py: ns-2 is not installed (Debian: apt install ns2)")
    verdicts: Counter[str] = Counter()
    for number, case in enumerate(cases.draw(seed, count)):
        kind = verdict(case)
        verdicts[kind] += 1
        if kind == "clear":
            print(f"case {number} differs, and no tie explains it: {case}")
    print(", ".join(f"{kind} {number}" for kind, number in sorted(verdicts.items())))


if __name__ == "__main__":
    main()
