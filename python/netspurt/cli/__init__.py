"""The `netspurt` command."""

import os

# No linear algebra is done here, and an idle OpenBLAS thread would spin beside the simulation.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from netspurt.cli.main import main

__all__ = ["main"]
