"""The `netspurt` command."""

import os
import signal

# numpy uses the library OpenBLAS for matrices. The matrices of netspurt are small, so more than one
# thread of OpenBLAS would only wait, and take time from the simulation.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__all__ = ["start"]


def start() -> None:
    """Import the command, and run it."""
    # An interrupt during the imports ends the process without a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from netspurt.cli.main import main

    main()
