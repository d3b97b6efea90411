"""`python -m dibs`, the same as the command `dibs`."""

from dibs.interfaces.cli import entry

entry()
