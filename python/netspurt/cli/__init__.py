"""The `netspurt` command."""

from netspurt.cli.main import main

__all__ = ["main"]
