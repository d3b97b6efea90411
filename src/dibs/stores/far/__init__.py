"""A store that a server of dibs elsewhere has: this machine sends operations, and reads the log."""
