"""Looks back at the sessions that clients keep: what happened between them, and what dibs would have done.

It works without a workspace and opens no store of one. Nothing is written, nothing is run, nothing leaves the machine.
The way of a line: formats/ (one file a client's format) makes moments of it, session_files.py merges the files by time,
shared_work.py counts what sessions did to each other, past.py lets the guards' own operations decide about each call,
and findings.py is what comes of it, for text.py, html.py and `--json`.
"""
