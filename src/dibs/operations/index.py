"""Which file declares which operation. Made by `make generate`; a test fails when it is out of date."""

FILES = {
    "ack": "messages",
    "agents": "agents",
    "ask": "tokens",
    "boot": "agents",
    "claim": "claims",
    "confirm": "tokens",
    "inbox": "messages",
    "kill": "agents",
    "leave": "agents",
    "prune": "sweeps",
    "release": "releases",
    "renew": "releases",
    "revive": "agents",
    "rules": "rules",
    "scratch": "rules",
    "seal": "sweeps",
    "status": "status",
    "sweep": "sweeps",
}
