"""The `netspurt` command."""

import os
import signal

# netspurt uses no linear algebra, and an idle OpenBLAS thread would slow the simulation.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__all__ = ["start"]


def start() -> None:
    """Run the command, including its imports."""
    # An interrupt during the imports ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from netspurt.cli.main import main

    main()
