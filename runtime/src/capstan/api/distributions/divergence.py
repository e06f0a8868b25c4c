"""Kullback-Leibler divergences (python/ops/distributions/kullback_leibler.py).

`RegisterKL` registers the formula for two classes of distributions, also for classes of a program.
"""

import itertools
from collections.abc import Callable
from typing import Any

from capstan.api import control_flow_ops, reduce_ops
from capstan.api.scoped import scoped
from capstan.framework.raw import raw

Formula = Callable[..., Any]
"""Takes two distributions and `name`. Returns their divergence, a tensor of the batch shape."""

_REGISTERED: dict[tuple[type, type], Formula] = {}


class RegisterKL:
    """A decorator that makes a function the divergence of two classes and of their subclasses.

    @tf.distributions.RegisterKL(Triangular, Triangular)
    def divergence(first, second, name=None):
        ...
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._classes = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Formula) -> Formula:
        """Register `kl_fn(a, b, name=None)`, and return it.

        Raises:
            TypeError: `kl_fn` is not callable.
            ValueError: the two classes have a function.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._classes in _REGISTERED:
            first, second = self._classes
            raise ValueError(
                f"KL({first.__name__} || {second.__name__}) has already been registered to: "
                f"{_REGISTERED[self._classes]}"
            )
        _REGISTERED[self._classes] = kl_fn
        return kl_fn


def _formula(first: type, second: type) -> Formula | None:
    """Return the function of the classes, or else of their nearest bases that have one."""
    known = (
        (above_first + above_second, _REGISTERED[base, other])
        for (above_first, base), (above_second, other) in itertools.product(
            enumerate(first.__mro__), enumerate(second.__mro__)
        )
        if (base, other) in _REGISTERED
    )
    return min(known, key=lambda found: found[0], default=(0, None))[1]


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """Return the Kullback-Leibler divergence KL(a || b) for each distribution of the batches.

    Without `allow_nan_stats`, a step raises InvalidArgumentError if a divergence is NaN.

    Raises:
        NotImplementedError: no function is registered for the two classes.
    """
    first, second = type(distribution_a), type(distribution_b)
    formula = _formula(first, second)
    if formula is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{first.__name__} and distribution_b type {second.__name__}"
        )
    with scoped(None, "KullbackLeibler"):
        found = formula(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return found
        has_nan = reduce_ops.reduce_any(raw.IsNan(found))
        message = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN "
            "values (and was called with allow_nan_stats=False). Values:"
        )
        check = control_flow_ops.Assert(raw.LogicalNot(has_nan), [message, found])
        return control_flow_ops.with_dependencies([check], found, name="checked_kl")


def cross_entropy(
    ref: Any, other: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """Return the cross entropy of two distributions: entropy(ref) + KL(ref || other)."""
    with scoped(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats)
