"""What every test stands on: Hypothesis's profiles, and an environment that names no workspace of the developer's."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A shared machine is slow at times; how long an example took says nothing about the code.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("torture", parent=settings.get_profile("default"), max_examples=2_000)
settings.load_profile(os.environ.get("DIBS_HYPOTHESIS", "default"))

for _name in ("DIBS_AGENT", "DIBS_STORE", "DIBS_WORKSPACE"):
    os.environ.pop(_name, None)
