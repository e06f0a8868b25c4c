"""TensorFlow 1's barrier (python/ops/data_flow_ops.py)."""

from typing import Any

from capstan.api import components
from capstan.core import shapes
from capstan.framework.raw import raw


class Barrier:
    """A store of elements by key. The components of an element may arrive one at a time.

    Only complete elements can be taken.
    """

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None, name: str = "barrier"
    ) -> None:
        """`types` and `shapes` describe the components of an element.

        Raises:
            ValueError: a shape is unknown in part, or has no elements.
        """
        self._types = components.type_list(types)
        known = components.shape_list(shapes)
        self._shapes = components.shapes_or_unknown(known, len(self._types))
        for index, shape in enumerate(self._shapes):
            if shape.num_elements() == 0:
                raise ValueError(
                    f"Empty tensors are not supported, but received shape '{shape}' at index "
                    f"{index}"
                )
        self._barrier_ref = raw.Barrier(
            component_types=self._types, shapes=self._shapes, shared_name=shared_name, name=name
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Any:
        """The reference to the barrier."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes the barrier."""
        return str(self._barrier_ref.op.name)

    def insert_many(
        self, component_index: int, keys: Any, values: Any, name: str | None = None
    ) -> Any:
        """Return an operation that sets component `component_index` of the element of each key."""
        return raw.BarrierInsertMany(
            self._barrier_ref,
            keys,
            values,
            component_index=component_index,
            name=name or f"{self._name}_BarrierInsertMany",
        )

    def take_many(
        self,
        num_elements: Any,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Return `BarrierTakeMany(indices, keys, values)`. `values` lists the components.

        The operation waits for `num_elements` elements. With `allow_small_batch`, it takes fewer
        elements if the barrier is closed and has fewer.
        """
        result = raw.BarrierTakeMany(
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=timeout,
            name=name or f"{self._name}_BarrierTakeMany",
        )
        known = None if allow_small_batch else result.indices.op.inputs[1].op.constant_value()
        batch = (None if known is None else int(known),)
        for output in (result.indices, result.keys):
            output.set_shape(batch)
        for output, shape in zip(result.values, self._shapes, strict=True):
            output.set_shape(shapes.concatenate(batch, shape.internal))
        return result

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Any:
        """Return an operation that refuses new keys.

        With `cancel_pending_enqueues`, the operation also drops incomplete elements.
        """
        return raw.BarrierClose(
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=name or f"{self._name}_BarrierClose",
        )

    def ready_size(self, name: str | None = None) -> Any:
        """Return the number of complete elements."""
        return raw.BarrierReadySize(
            self._barrier_ref, name=name or f"{self._name}_BarrierReadySize"
        )

    def incomplete_size(self, name: str | None = None) -> Any:
        """Return the number of incomplete elements."""
        return raw.BarrierIncompleteSize(
            self._barrier_ref, name=name or f"{self._name}_BarrierIncompleteSize"
        )
