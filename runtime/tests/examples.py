"""The number of examples of a test that draws slow examples, or that draws examples for each op."""

import hypothesis


def share(of_a_hundred: int) -> int:
    """Return `of_a_hundred` percent of the examples of the current profile, but at least 2.

    Call it when a test module is imported: pytest has loaded the profile by then.
    """
    return max(2, hypothesis.settings().max_examples * of_a_hundred // 100)
