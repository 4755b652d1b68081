"""The `netspurt` command."""

import os
import signal

# No linear algebra is done here, and an idle OpenBLAS thread would spin beside the simulation.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__all__ = ["start"]


def start() -> None:
    """Run the command, from its imports on."""
    # An interrupt during the imports ends the process without more words.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from netspurt.cli.main import main

    main()
