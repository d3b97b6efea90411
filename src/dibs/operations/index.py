"""Which file declares which operation. Made by `make generate`; a test fails when it is out of date."""

FILES = {
    "ack": "messages",
    "agents": "agents",
    "ask": "claims",
    "boot": "agents",
    "claim": "claims",
    "confirm": "claims",
    "inbox": "messages",
    "kill": "agents",
    "leave": "agents",
    "prune": "sweeps",
    "release": "claims",
    "renew": "claims",
    "revive": "agents",
    "seal": "sweeps",
    "status": "status",
    "sweep": "sweeps",
}
