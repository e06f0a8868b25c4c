"""How many examples a property is tried on: few in `make check`, many in `make test`."""

import hypothesis

# The Makefile chooses between them; by hand, `--hypothesis-profile=full` does. No example fails
# for having been slow on a busy machine.
hypothesis.settings.register_profile("fast", max_examples=25, deadline=None)
hypothesis.settings.register_profile("full", max_examples=300, deadline=None)
hypothesis.settings.load_profile("fast")
