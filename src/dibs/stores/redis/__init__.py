"""The Redis engine: store.py has the store, engine.py what dibs can do with a server besides."""
