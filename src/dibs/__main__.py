"""`python -m dibs`, the same as the command `dibs`."""

from dibs.doors.cli import entry

entry()
