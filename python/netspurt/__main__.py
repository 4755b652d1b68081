"""Runs the command `netspurt` if Python is started with `python -m netspurt`."""

from netspurt.cli import start

start()
