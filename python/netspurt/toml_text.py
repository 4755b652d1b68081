"""TOML texts as the Rust core reads them.

Scenarios are TOML 1.1, in which a table in braces may have line breaks. Python's `tomllib` reads
TOML 1.0.
"""

from __future__ import annotations

import json
from typing import Any

from netspurt import _core


def values_of(text: str) -> dict[str, Any]:
    r"""Return the values of a TOML text.

    Raises
    ------
    ValueError
        If the text is not TOML.

    Examples
    --------
    >>> values_of("sweep = {\n  seeds = 3,\n}")
    {'sweep': {'seeds': 3}}
    """
    values: dict[str, Any] = json.loads(_core.toml_json(text))
    return values
