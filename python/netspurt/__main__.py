"""`python -m netspurt` is the command."""

from netspurt.cli import start

start()
