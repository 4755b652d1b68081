"""Makes sentences on the flows of a run whose connections failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netspurt.wording import few

if TYPE_CHECKING:
    from netspurt.table import Table

#: What happened to the connection, for each value of the column `failure`.
_HAPPENED = {
    "refused": "the connection was refused",
    "reset": "the connection was reset",
    "timed-out": "the connection timed out",
}


def failed_flows(flows: Table) -> list[str]:
    """Return a sentence for each kind of failure, such as *web failed: the connection was reset*.

    `flows` is the table `flows` of a run.
    """
    if "failure" not in flows:
        return []
    names: dict[str, list[str]] = {}
    for name, failure in zip(flows["flow"], flows["failure"], strict=True):
        of_kind = names.setdefault(str(failure), [])
        if str(name) not in of_kind:
            of_kind.append(str(name))
    kinds = [kind for kind in _HAPPENED if kind in names]
    return [f"{few(names[kind])} failed: {_HAPPENED[kind]}" for kind in kinds]
