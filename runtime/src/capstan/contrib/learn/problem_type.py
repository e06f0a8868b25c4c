"""The kinds of problems that models solve (contrib/learn/python/learn/estimators/constants.py)."""

from typing import Final


class ProblemType:
    """The kind of a problem, which chooses the signature of an export."""

    UNSPECIFIED: Final = 0
    CLASSIFICATION: Final = 1
    LINEAR_REGRESSION: Final = 2
    LOGISTIC_REGRESSION: Final = 3
