"""dibs for models: the declared operations as tools of the Model Context Protocol, on stdio and over HTTP.

Nothing is decided here, and no operation is written a second time: `tools.py` derives the tools from the declarations,
`results.py` puts answers and refusals into the form that clients show to their models, `callers.py` says who calls.
`server.py` puts these behind the official SDK, which `stdio.py` and `http.py` start. Importing the SDK takes a second:
only these three import it.
"""
