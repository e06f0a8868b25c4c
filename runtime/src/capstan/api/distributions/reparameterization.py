"""Whether samples have gradients by parameters (python/ops/distributions/distribution.py)."""


class ReparameterizationType:
    """A way in which the samples of a distribution depend on its parameters.

    A value equals only itself.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
"""Samples have gradients by all parameters."""
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
"""Samples have no gradients by the parameters."""
