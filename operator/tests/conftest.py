"""Examples of a property: 10 in `make check`, 100 in `make test`, 300 in `make soak`.

In `make check`, stateful tests also run fewer steps.
"""

import gc
import os
from collections.abc import Iterator

import hypothesis
import pytest

# Each client of a test would otherwise read every certificate that this machine trusts, which
# takes longer than most tests. Tests that use TLS have certificates of their own.
os.environ["SSL_CERT_FILE"] = os.devnull

# The Makefile chooses the profile. By hand, choose it with `--hypothesis-profile=full`. An example
# has no deadline, because the machine may be busy.
hypothesis.settings.register_profile("fast", max_examples=10, stateful_step_count=10, deadline=None)
hypothesis.settings.register_profile(
    "full", max_examples=100, stateful_step_count=40, deadline=None
)
hypothesis.settings.register_profile(
    "soak", max_examples=300, stateful_step_count=40, deadline=None
)
hypothesis.settings.load_profile("fast")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the collector of reference cycles away from what pytest finds, which lives until the
    end. To search it again and again takes longer than to find it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
