"""Long calls of the Rust core: Ctrl-C ends the wait for their results."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def interruptible(call: Callable[[], T], name: str) -> T:
    """Return the result of a call of the core. Ctrl-C ends the wait for the result.

    The core may work for minutes, and does not check for signals during that time. After Ctrl-C,
    the call continues in its thread until the call or the process ends. `name` is the name of this
    thread.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    done = threading.Event()
    # The thread is a daemon, so that the process may end before the call has ended.
    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    done.wait()
    if errors:
        raise errors[0]
    return results[0]
