"""dibs: coordination for coding agents. This file is on the hot path: whatever it imports, every hook call pays for."""

__version__ = "0.1.0"
