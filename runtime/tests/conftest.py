"""Examples per property: 10 in `make check`, 100 in `make test`, 300 in `make soak`."""

import hypothesis

# The Makefile chooses the profile. By hand, choose it with `--hypothesis-profile=full`. An example
# has no deadline, because the machine may be busy.
hypothesis.settings.register_profile("fast", max_examples=10, deadline=None)
hypothesis.settings.register_profile("full", max_examples=100, deadline=None)
hypothesis.settings.register_profile("soak", max_examples=300, deadline=None)
hypothesis.settings.load_profile("fast")
