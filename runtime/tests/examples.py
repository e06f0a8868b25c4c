"""How many examples a test draws whose examples are slow, or are drawn for each op."""

import hypothesis


def share(of_a_hundred: int) -> int:
    """Return that share of the examples of the current profile; at least 2.

    Call it when a test module is imported: pytest has loaded the profile by then.
    """
    return max(2, hypothesis.settings().max_examples * of_a_hundred // 100)
