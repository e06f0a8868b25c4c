"""The parts of a Keras layer: its variables and layers, losses and updates."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from capstan.api import resource_variables, variables
from capstan.api.layers import added_losses, common, context, dependence
from capstan.framework import nest


@dataclass(frozen=True, slots=True)
class AddedMetric:
    """A tensor that a layer shows as a metric. `metric` is None, or has computed the tensor."""

    name: str
    value: Any
    metric: Any


def parts(value: Any, kind: Any) -> Iterator[Any]:
    """Return the objects of a kind in a value, or in its lists, tuples and dictionaries."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from parts(each, kind)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from parts(each, kind)


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the values in order, each object once."""
    return list({id(value): value for value in values}.values())


class Tracker(common.CommonLayer):
    """A layer that counts the layers and variables in its attributes as its parts."""

    _trainable: bool
    _added_metrics: tuple[AddedMetric, ...] = ()
    _open_calls: int = 0

    @property
    def _inner_layers(self) -> list[Any]:
        """The layers in the attributes, in the order of their first assignments.

        Cells of old programs, which do not call the constructor of their base class, are left out.
        """
        found = distinct(self._in_attributes(common.CommonLayer))
        return [layer for layer in found if hasattr(layer, "_graph")]

    @property
    def _layers(self) -> Any:
        """The layers inside, or what the program assigned to the attribute of this name."""
        return vars(self).get("_layers", self._inner_layers)

    @_layers.setter
    def _layers(self, value: Any) -> None:
        vars(self)["_layers"] = value

    def _in_attributes(self, kind: Any) -> Iterator[Any]:
        for name, value in list(vars(self).items()):
            if name not in common.NOT_PARTS:
                yield from parts(value, kind)

    def _from_layers(self, attribute: str) -> list[Any]:
        return [each for layer in self._inner_layers for each in getattr(layer, attribute)]

    def _own_variables(self, *, trainable: bool) -> list[Any]:
        listed = self._trainable_weights if trainable else self._non_trainable_weights
        others = {id(each) for each in self._trainable_weights + self._non_trainable_weights}
        return [
            *listed,
            *(
                variable
                for variable in distinct(self._in_attributes(variables.Variable))
                if id(variable) not in others
                and variable.trainable is trainable
                and not isinstance(variable, resource_variables.UnreadVariable)
            ),
        ]

    @property
    def trainable(self) -> bool:
        """Whether optimizers change the variables. A change holds for all layers inside, too."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in self._inner_layers:
            layer.trainable = value

    @property
    def trainable_weights(self) -> list[Any]:
        if not self.trainable:
            return []
        return distinct(
            self._own_variables(trainable=True) + self._from_layers("trainable_weights")
        )

    @property
    def non_trainable_weights(self) -> list[Any]:
        fixed = self._own_variables(trainable=False)
        if self.trainable:
            return distinct(fixed + self._from_layers("non_trainable_weights"))
        return distinct(self._own_variables(trainable=True) + fixed + self._from_layers("weights"))

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Add losses: scalars, or functions without arguments that return a scalar.

        A function is called each time that `losses` is read. If a loss depends on inputs of the
        layer, `inputs` names them.
        """
        for loss in losses if isinstance(losses, list | tuple) else [losses]:
            if loss is not None:
                replica = added_losses.replica() if self._open_calls else None
                self._losses.append(added_losses.Loss(loss, inputs is not None, replica))

    @contextmanager
    def _called(self) -> Iterator[None]:
        """Return the block in which `call` runs. The blocks of several replicas may overlap."""
        self._open_calls += 1
        try:
            yield
        finally:
            self._open_calls -= 1

    def add_metric(
        self, value: Any, aggregation: str | None = None, name: str | None = None
    ) -> None:
        """Show a tensor among the metrics of the models that the layer is part of.

        With the aggregation "mean", the metric is the mean of the tensor over all batches. Without
        an aggregation, the tensor must be what the call of a Metric returned. Its name is the
        default for `name`.

        Raises:
            ValueError: there is another aggregation, or no name, or no Metric.
        """
        if aggregation not in (None, "mean"):
            raise ValueError(
                f'The aggregation of a metric must be None or "mean", not {aggregation!r}'
            )
        metric = context.of().metric_results.get(value)
        if aggregation is None and metric is None:
            raise ValueError(
                "A metric without aggregation must be the result of a tf.keras.metrics.Metric. "
                f'Pass aggregation="mean" to show the mean of {value}'
            )
        name = name or (None if metric is None else metric.name)
        if name is None:
            raise ValueError(f"Please provide a `name` for the metric {value}")
        added = AddedMetric(name, value, metric if aggregation is None else None)
        self._added_metrics = (*self._added_metrics, added)

    def _all_added_metrics(self) -> list[AddedMetric]:
        """Return what this layer and all layers inside show as metrics."""
        inner = (layer for layer in self._inner_layers if isinstance(layer, Tracker))
        return [*self._own_metrics(), *(m for layer in inner for m in layer._all_added_metrics())]

    def _own_metrics(self) -> list[AddedMetric]:
        """Return what this layer itself shows: first the results of metrics in its attributes."""
        held = [id(metric) for metric in self._in_attributes(common.CommonLayer)]
        first = [each for each in self._added_metrics if id(each.metric) in held]
        first.sort(key=lambda each: held.index(id(each.metric)))
        return [*first, *(each for each in self._added_metrics if id(each.metric) not in held)]

    @property
    def metrics(self) -> list[Any]:
        """The metrics in the attributes of the layer and of all layers inside, and those whose
        results `add_metric` got.
        """
        return distinct(each for each in self._metric_parts() if each is not self)

    def _metric_parts(self) -> list[Any]:
        added = [each.metric for each in self._added_metrics if each.metric is not None]
        inner = (layer for layer in self._inner_layers if isinstance(layer, Tracker))
        return [*added, *(metric for layer in inner for metric in layer._metric_parts())]

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Add operations that change the state of the layer, or functions that return them.

        Nothing runs them by itself: run `updates` with the training step.
        """
        for update in updates if isinstance(updates, list | tuple) else [updates]:
            made = update() if callable(update) else update
            if made is not None:
                self._updates.append(getattr(made, "op", made))

    @property
    def losses(self) -> list[Any]:
        """The losses of the layer and of all layers inside: regularizers and `add_loss`."""
        own = sorted(self._losses, key=lambda loss: callable(loss.value))
        found = [loss.tensor() for loss in own]
        return [each for each in found if each is not None] + self._from_layers("losses")

    @property
    def updates(self) -> list[Any]:
        """The operations that change the state of the layer and of all layers inside.

        A layer that is not trainable has no updates.
        """
        if not self.trainable and not self.stateful:
            return []
        return distinct(self._updates + self._from_layers("updates"))

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """Return the losses that depend on `inputs`, or for None the losses without inputs."""
        own = [each.tensor() for each in self._losses if each.has_inputs is (inputs is not None)]
        inner = [each for layer in self._inner_layers for each in layer.get_losses_for(inputs)]
        found = [each for each in own if each is not None] + inner
        return found if inputs is None else dependence.reached(nest.flatten(inputs), found)

    def losses_in(self, replica: Any, inputs: Any) -> list[Any]:
        """Return the losses of the layer for its call on `inputs` in a replica of a strategy.

        Losses that other calls have added are left out, unless they depend on `inputs`.
        """
        own = [loss for loss in self._losses if loss.replica is None or loss.replica is replica]
        found = [
            each.tensor()
            if callable(each.value) or each.replica is not None
            else added_losses.shared(each.value, replica)
            for each in own
            if not each.has_inputs
        ]
        dependent = [each.tensor() for each in self._losses if each.has_inputs]
        found += dependence.reached(nest.flatten(inputs), [e for e in dependent if e is not None])
        for layer in self._inner_layers:
            if isinstance(layer, Tracker):
                found += layer.losses_in(replica, inputs)
            else:
                found += [*layer.get_losses_for(None), *layer.get_losses_for(inputs)]
        return [each for each in found if each is not None]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """Return the updates that depend on `inputs`, or for None those without inputs."""
        if inputs is not None:
            return dependence.reached(nest.flatten(inputs), self.updates)
        if not self.trainable and not self.stateful:
            return []
        dependent = dependence.reached(nest.flatten(self._inputs), self._updates)
        own = dependence.rest(self._updates, dependent)
        inner = [each for layer in self._inner_layers for each in layer.get_updates_for(None)]
        return distinct(own + inner)

    def pairs(self, weights: Any) -> list[tuple[Any, Any]]:
        """Return each variable with its array.

        Raises:
            ValueError: the number or the shapes of the arrays differ from those of the variables.
        """
        own = self.weights
        if len(own) != len(weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of '
                f"length {len(weights)}, but the layer was expecting {len(own)} weights."
            )
        for variable, value in zip(own, weights, strict=True):
            if tuple(variable.shape.as_list()) != tuple(value.shape):
                raise ValueError(
                    f"Layer {self.name}: the weight {variable.name} has the shape "
                    f"{variable.shape}, and the array has the shape {value.shape}"
                )
        return list(zip(own, weights, strict=True))
