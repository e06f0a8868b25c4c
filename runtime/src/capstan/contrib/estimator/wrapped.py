"""An optimizer that hands its work to another optimizer."""

from collections.abc import Callable
from typing import Any

from capstan import train


class WrappedOptimizer(train.Optimizer):
    """Computes and applies gradients by the optimizer of `make()`, which is called at first use."""

    def __init__(self, make: Callable[[], train.Optimizer], name: str) -> None:
        super().__init__(use_locking=False, name=name)
        self._make = make
        self._made: train.Optimizer | None = None

    @property
    def _inner(self) -> train.Optimizer:
        if self._made is None:
            self._made = self._make()
        return self._made

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        return self._inner.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, var: Any, name: str) -> Any:
        return self._inner.get_slot(var, name)

    def get_slot_names(self) -> Any:
        return self._inner.get_slot_names()

    def variables(self) -> Any:
        return self._inner.variables()
