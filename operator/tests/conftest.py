"""Examples of a property: 10 in `make check`, 100 in `make test`, 300 in `make soak`.

The histories of `make check` are also shorter.
"""

import hypothesis

# The Makefile chooses between them; by hand, `--hypothesis-profile=full` does. An example may take
# any time: the machine may be busy.
hypothesis.settings.register_profile("fast", max_examples=10, stateful_step_count=10, deadline=None)
hypothesis.settings.register_profile(
    "full", max_examples=100, stateful_step_count=40, deadline=None
)
hypothesis.settings.register_profile(
    "soak", max_examples=300, stateful_step_count=40, deadline=None
)
hypothesis.settings.load_profile("fast")
