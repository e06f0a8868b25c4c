"""`tf.contrib.opt.MovingAverageOptimizer` (contrib/opt/python/training)."""

from collections.abc import Iterable, Mapping
from typing import Any

from capstan.api import control_flow_ops, variable_collections
from capstan.framework import graph as graphs
from capstan.train import moving_averages, optimizer, saveable_object, saver


class MovingAverageOptimizer(optimizer.Optimizer):
    """An optimizer that also keeps moving averages of the variables that it trains.

    The saver that `swapping_saver` returns saves the averages under the names of the variables. A
    program that evaluates the model then restores the averages with a plain `tf.train.Saver`.
    """

    def __init__(
        self,
        opt: optimizer.Optimizer,
        average_decay: float = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        """Wrap `opt`. The other arguments are those of `tf.train.ExponentialMovingAverage`.

        If `sequential_update` is false, an average may miss the update of its step.
        """
        super().__init__(False, "MovingAverage")
        self._optimizer = opt
        self._averages = moving_averages.ExponentialMovingAverage(average_decay, num_updates)
        self._is_sequential = sequential_update
        self._swapped: dict[str, str] | None = None

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Do what the wrapped optimizer does."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> graphs.Operation:
        """Do what the wrapped optimizer does, and update the averages."""
        pairs = list(grads_and_vars)
        trained = self._optimizer.apply_gradients(pairs, global_step, name)
        chosen = [var for grad, var in pairs if grad is not None]
        before = [trained] if self._is_sequential else []
        with graphs.get_default_graph().control_dependencies(before):
            averaged = self._averages.apply(chosen)
        self._swapped = {}
        for var in chosen:
            own, other = var.op.name, self._averages.average(var).op.name
            self._swapped.update({own: other, other: own})
        return control_flow_ops.group(trained, averaged, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> saver.Saver:
        """Return a Saver that saves each average under the name of its variable.

        Call it after `minimize`, when all variables exist. The arguments are those of
        `tf.train.Saver`.

        Raises:
            RuntimeError: no gradients have been applied yet.
            ValueError: a variable is saved without its average.
        """
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        given = variable_collections.global_variables() if var_list is None else var_list
        named = saveable_object.saveables_by_name(given)
        known = {
            name: var
            for key, saved in named.items()
            for name, var in (
                ((part.op.name, part) for part in saved)
                if isinstance(saved, list)
                else ((key, saved),)
            )
        }
        swapped = {
            key: [self._other(known, part.op.name, part) for part in saved]
            if isinstance(saved, list)
            else self._other(known, key, saved)
            for key, saved in named.items()
        }
        return saver.Saver(swapped, name=name, **kwargs)

    def _other(self, known: Mapping[str, Any], name: str, var: Any) -> Any:
        """Return what is saved in the place of a variable: its average, or that of which it is."""
        wanted = (self._swapped or {}).get(name)
        if wanted is None:
            return var
        if wanted not in known:
            raise ValueError(
                f"Variable to swap {wanted} is not part of variables to save. This breaks "
                "MovingAverageOptimizer."
            )
        return known[wanted]
