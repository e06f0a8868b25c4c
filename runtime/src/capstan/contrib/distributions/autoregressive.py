"""Distributions of vectors, each element of which depends on those before it.

Source: contrib/distributions/python/ops/autoregressive.py.
"""

import random
from collections.abc import Callable
from typing import Any

from capstan.api.distributions import Distribution


class Autoregressive(Distribution):
    """The distribution of a vector whose element `i` depends on the elements before it.

    `distribution_fn` returns, for a vector, the distribution of the elements after it. A sample is
    drawn from this distribution `num_steps` times, each time for the sample before it.
    """

    def __init__(
        self,
        distribution_fn: Callable[..., Distribution],
        sample0: Any = None,
        num_steps: int | None = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Autoregressive",
    ) -> None:
        """Create a distribution. By default, there are as many steps as elements of a vector.

        Without `sample0`, the first distribution is that of `distribution_fn()`.

        Raises:
            ValueError: the number of steps is unknown, or below 1.
        """
        parameters = dict(locals())
        self._distribution_fn, self._sample0 = distribution_fn, sample0
        self._first = distribution_fn() if sample0 is None else distribution_fn(sample0)
        steps = self._first.event_shape.num_elements() if num_steps is None else num_steps
        if steps is None:
            raise ValueError(
                "distribution_fn must generate a distribution with fully known `event_shape`."
            )
        if steps < 1:
            raise ValueError(f"num_steps ({steps}) must be at least 1.")
        self._num_steps = steps
        super().__init__(
            self._first.dtype,
            self._first.reparameterization_type,
            validate_args,
            allow_nan_stats,
            parameters,
            self._first._graph_parents,
            name,
        )

    @property
    def distribution_fn(self) -> Callable[..., Distribution]:
        """The function that returns the distribution of what follows a vector."""
        return self._distribution_fn

    @property
    def sample0(self) -> Any:
        """The vector that the first distribution follows, or None."""
        return self._sample0

    @property
    def num_steps(self) -> int:
        """How often a sample is drawn again."""
        return self._num_steps

    @property
    def distribution0(self) -> Distribution:
        """The first distribution."""
        return self._first

    def _batch_shape(self) -> Any:
        return self._first.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._first.batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self._first.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._first.event_shape_tensor()

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # All steps have one seed, so that an element which is drawn again stays what it was.
        seed = random.SystemRandom().getrandbits(31) if seed is None else seed
        samples = self._first.sample(n, seed)
        for _ in range(self._num_steps):
            samples = self._distribution_fn(samples).sample(seed=seed)
        return samples

    def _log_prob(self, value: Any) -> Any:
        return self._distribution_fn(value).log_prob(value)

    def _prob(self, value: Any) -> Any:
        return self._distribution_fn(value).prob(value)
