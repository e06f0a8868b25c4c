"""Bijectors with further arguments (contrib's ops/bijectors/conditional_bijector.py)."""

from collections.abc import Mapping
from typing import Any

from capstan.contrib.distributions.bijectors.bijector import Bijector


class ConditionalBijector(Bijector):
    """A function whose methods take further keywords, and give them to `_forward` and so on.

    A program makes a class of its own. The results for other keywords are not remembered.
    """

    def forward(self, x: Any, name: str = "forward", **condition_kwargs: Any) -> Any:
        """Return the image of `x`."""
        with self._name_scope(name, (x,)):
            return self._forward(self._tensor(x, "x"), **condition_kwargs)

    def inverse(self, y: Any, name: str = "inverse", **condition_kwargs: Any) -> Any:
        """Return the tensor whose image is `y`."""
        with self._name_scope(name, (y,)):
            return self._inverse(self._tensor(y, "y"), **condition_kwargs)

    def forward_log_det_jacobian(
        self,
        x: Any,
        event_ndims: Any,
        name: str = "forward_log_det_jacobian",
        **condition_kwargs: Any,
    ) -> Any:
        """Return log |det J| of `forward` at `x`, summed over the last `event_ndims` axes."""
        return conditioned(self, condition_kwargs).forward_log_det_jacobian(x, event_ndims, name)

    def inverse_log_det_jacobian(
        self,
        y: Any,
        event_ndims: Any,
        name: str = "inverse_log_det_jacobian",
        **condition_kwargs: Any,
    ) -> Any:
        """Return log |det J| of `inverse` at `y`, summed over the last `event_ndims` axes."""
        return conditioned(self, condition_kwargs).inverse_log_det_jacobian(y, event_ndims, name)


def conditioned(bijector: ConditionalBijector, keywords: Mapping[str, Any]) -> Bijector:
    """Return a bijector with its keywords."""
    return _Conditioned(bijector, keywords)


class _Conditioned(Bijector):
    """A ConditionalBijector with its keywords."""

    def __init__(self, bijector: ConditionalBijector, keywords: Mapping[str, Any]) -> None:
        super().__init__(
            graph_parents=bijector.graph_parents,
            forward_min_event_ndims=bijector.forward_min_event_ndims,
            inverse_min_event_ndims=bijector.inverse_min_event_ndims,
            name=bijector.name,
        )
        for method in (
            *("_forward", "_inverse", "_forward_log_det_jacobian", "_inverse_log_det_jacobian"),
        ):
            setattr(self, method, _with(getattr(bijector, method), keywords))


def _with(method: Any, keywords: Mapping[str, Any]) -> Any:
    return lambda tensor: method(tensor, **keywords)
