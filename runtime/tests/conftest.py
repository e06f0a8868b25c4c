"""What pytest collects here, and the number of examples per property: 10 in `make check`, 100 in
`make test`, 300 in `make soak`.
"""

import hypothesis

# Tests start these programs. They define the same flags, so one process cannot import both.
collect_ignore = ["seeds/distributed.py", "train/replica.py"]

# The Makefile chooses the profile. By hand, choose it with `--hypothesis-profile=full`. An example
# has no deadline, because the machine may be busy.
hypothesis.settings.register_profile("fast", max_examples=10, deadline=None)
hypothesis.settings.register_profile("full", max_examples=100, deadline=None)
hypothesis.settings.register_profile("soak", max_examples=300, deadline=None)
hypothesis.settings.load_profile("fast")
