"""`tf.TensorArray`: an array of tensors that a step writes and reads by index
(python/ops/tensor_array_ops.py).

The array belongs to the step. A TensorArray object of the program stands for the array after a
certain operation: `write` returns a new object, and later operations wait for it through `flow`.
"""

from typing import Any, ClassVar

import numpy as np

from capstan.core import dtypes, tensor_shape
from capstan.framework import body_graph, convert, first_write
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class TensorArray:
    """An array of `size` tensors of type `dtype`. A step writes each element once.

    With `dynamic_size`, a write past the end makes the array longer. With `clear_after_read` (the
    default), each element may be read once. `element_shape` is the known part of the shape of all
    elements. With `infer_shape`, the first write fixes the shape. The array is on the device of the
    first tensor that is written, unless `colocate_with_first_write_call` is false. With `handle`
    and `flow`, the object stands for an array that exists. With control flow v2, the object is a
    `list_array.ListArray`.

    Raises:
        TypeError: `handle` is not a tensor.
        ValueError: `size` and `handle` are both given or both missing, or another argument
            contradicts `handle`.
    """

    _list_kind: ClassVar[type["TensorArray"]]

    def __init_subclass__(cls, *, is_list: bool = False) -> None:
        # `TensorArray` makes objects of its subclass, which it cannot import.
        super().__init_subclass__()
        if is_list:
            TensorArray._list_kind = cls

    def __new__(cls, *args: Any, flow: Any = None, **kwargs: Any) -> "TensorArray":
        is_list = flow is not None and flow.dtype.base_dtype is dtypes.variant
        if flow is None:
            is_list = body_graph.is_functional(graphs.get_default_graph())
        return super().__new__(TensorArray._list_kind if is_list else cls)

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        _check_arguments(
            handle,
            size,
            tensor_array_name=tensor_array_name,
            element_shape=element_shape,
            dynamic_size=dynamic_size,
            clear_after_read=clear_after_read,
        )
        self._handle: graphs.Tensor
        self._flow: graphs.Tensor
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = dynamic_size or False
        self._size = size
        if self._dtype is dtypes.resource:
            # Each handle has the static shape of its variable, which is no shape of an element.
            element_shape, infer_shape = None, False
        self._infer_shape = infer_shape
        self._first_write = first_write.FirstWrite(colocate_with_first_write_call)
        # The shape of the elements. It is in a list, which all objects for one array share.
        self._shape = [tensor_shape.as_shape(element_shape)]
        graph: Any = graphs.graph_of([handle, size, flow])
        with graph.as_default(), graph.name_scope(name or "TensorArray") as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            with self._first_write.making(graph):
                self._handle, self._flow = raw.TensorArrayV3(
                    size,
                    dtype=self._dtype,
                    element_shape=self._shape[0],
                    identical_element_shapes=infer_shape,
                    dynamic_size=self._dynamic_size,
                    clear_after_read=clear_after_read,
                    tensor_array_name=tensor_array_name,
                    name=scope,
                )

    @property
    def handle(self) -> graphs.Tensor:
        """The tensor that names the array."""
        return self._handle

    @property
    def flow(self) -> graphs.Tensor:
        """The tensor that waits for the operations on the array so far. It has no value."""
        return self._flow

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def element_shape(self) -> tensor_shape.TensorShape:
        """The static shape that all elements share."""
        return self._shape[0]

    @property
    def dynamic_size(self) -> bool:
        return self._dynamic_size

    @property
    def infers_shape(self) -> bool:
        """Whether the first write fixes the shape of the elements."""
        return self._infer_shape

    @property
    def graph(self) -> Any:
        return self.handle.graph

    def restricted(
        self, element_shape: tensor_shape.TensorShape, dynamic_size: bool
    ) -> "TensorArray":
        """Return this new object for an array whose elements have a static shape."""
        self._shape, self._dynamic_size = [element_shape], dynamic_size
        return self

    def with_flow(self, flow: graphs.Tensor) -> "TensorArray":
        """Return an object for the same array after the operation that computes `flow`."""
        later = TensorArray(
            self._dtype,
            handle=self._handle,
            flow=flow,
            infer_shape=self._infer_shape,
        )
        later._dynamic_size = self._dynamic_size
        later._size = self._size
        later._first_write = self._first_write
        later._shape = self._shape
        return later

    def identity(self) -> "TensorArray":
        """Return an object for the same array that waits for the current control dependencies."""
        return self.with_flow(raw.Identity(self._flow))

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> "TensorArray":
        """Return the array of the gradients of this array.

        `source` names the call of `tf.gradients`. Each call has arrays of its own.
        """
        flow = self._flow if flow is None else flow
        graph = self.graph
        with graph.name_scope(name or "TensorArrayGrad"), graph.colocate_with(self.handle.op):
            handle, _ = raw.TensorArrayGradV3(self._handle, flow, source=source, name=name)
            with graph.control_dependencies([handle]):
                flow = raw.Identity(flow, name="gradient_flow")
            gradients = TensorArray(
                self._dtype,
                handle=handle,
                flow=flow,
                infer_shape=self._infer_shape,
                colocate_with_first_write_call=False,
            )
            gradients._shape = self._shape
            return gradients

    def read(self, index: Any, name: str | None = None) -> graphs.Tensor:
        """Return the element at `index`, a scalar."""
        value: graphs.Tensor = raw.TensorArrayReadV3(
            self._handle, index, self._flow, dtype=self._dtype, name=name
        )
        value.set_shape(self.element_shape)
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> "TensorArray":
        """Write `value` as the element at `index`. Return the array after the write.

        Raises:
            ValueError: the shape of `value` contradicts the shape of the other elements.
        """
        with self.graph.name_scope(name or "TensorArrayWrite"):
            value = convert.convert_to_tensor(value, None, "value", self._dtype)
            self._check_shape(value.shape)
            with self._first_write.writing(value):
                return self.with_flow(
                    raw.TensorArrayWriteV3(self._handle, index, value, self._flow, name=name)
                )

    def stack(self, name: str | None = None) -> graphs.Tensor:
        """Return all elements, stacked along a new first axis."""
        with (
            self.graph.colocate_with(self.handle.op),
            self.graph.name_scope(name or "TensorArrayStack"),
        ):
            count = self.size()
            value = self.gather(self._indices(count), name=name)
            if self.element_shape.ndims is not None and not self._dynamic_size:
                size = _known(self._size)
                value.set_shape([size, *self.element_shape.as_list()])
            return value

    def gather(self, indices: Any, name: str | None = None) -> graphs.Tensor:
        """Return the elements at `indices`, a vector, stacked along a new first axis."""
        value: graphs.Tensor = raw.TensorArrayGatherV3(
            self._handle,
            indices,
            self._flow,
            dtype=self._dtype,
            element_shape=self.element_shape,
            name=name,
        )
        if self.element_shape.ndims is not None:
            value.set_shape([None, *self.element_shape.as_list()])
        return value

    def concat(self, name: str | None = None) -> graphs.Tensor:
        """Return all elements, joined along their first axis."""
        element = self.element_shape
        value: graphs.Tensor
        value, _ = raw.TensorArrayConcatV3(
            self._handle,
            self._flow,
            dtype=self._dtype,
            element_shape_except0=element[1:],
            name=name,
        )
        if element.ndims is not None:
            size = _known(self.size()) if self._infer_shape else None
            first, *rest = element.as_list()
            known = size is not None and first is not None
            value.set_shape([size * first if known else None, *rest])  # type: ignore[operator]
        return value

    def unstack(self, value: Any, name: str | None = None) -> "TensorArray":
        """Write the slices of `value` along axis 0. Return the array after the writes."""
        with self.graph.name_scope(name or "TensorArrayUnstack"):
            value = convert.convert_to_tensor(value, None, "value", self._dtype)
            count = raw.Shape(value)[0]
            return self.scatter(self._indices(count), value, name=name)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> "TensorArray":
        """Write slice i of `value` along axis 0 at `indices[i]`. Return the array afterwards."""
        with self.graph.name_scope(name or "TensorArrayScatter"):
            value = convert.convert_to_tensor(value, None, "value", self._dtype)
            self._check_shape(value.shape[1:])
            with self._first_write.writing(value):
                return self.with_flow(
                    raw.TensorArrayScatterV3(self._handle, indices, value, self._flow, name=name)
                )

    def split(self, value: Any, lengths: Any, name: str | None = None) -> "TensorArray":
        """Write slices of `value`. Slice i has `lengths[i]` rows.

        Return the array after the writes.
        """
        with self.graph.name_scope(name or "TensorArraySplit"):
            value = convert.convert_to_tensor(value, self._dtype, "value")
            with self._first_write.writing(value):
                lengths = convert.convert_to_tensor(lengths)
                if lengths.dtype.base_dtype is not dtypes.int64:
                    lengths = raw.Cast(lengths, DstT=dtypes.int64, name="Cast")
                known = convert.constant_value(lengths)
                if known is not None and value.shape.ndims is not None and len(set(known)) == 1:
                    self._check_shape(
                        tensor_shape.TensorShape([int(known[0]), *value.shape.as_list()[1:]])
                    )
                return self.with_flow(
                    raw.TensorArraySplitV3(self._handle, value, lengths, self._flow, name=name)
                )

    def size(self, name: str | None = None) -> graphs.Tensor:
        """Return the number of elements, an int32 scalar."""
        if not self._dynamic_size and self._size is not None:
            return convert.convert_to_tensor(self._size, dtypes.int32)
        size: graphs.Tensor = raw.TensorArraySizeV3(self._handle, self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> graphs.Operation:
        """Return an operation that frees the array before the end of the step."""
        operation: graphs.Operation = raw.TensorArrayCloseV3(self._handle, name=name)
        return operation

    def _indices(self, count: Any) -> Any:
        with self.graph.name_scope("range") as scope:
            start, delta = (
                convert.constant(value, name=name) for name, value in (("start", 0), ("delta", 1))
            )
            return raw.Range(start, count, delta, name=scope)

    def _check_shape(self, shape: tensor_shape.TensorShape) -> None:
        if self._dtype is dtypes.resource:
            return
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape}")
        if self._infer_shape:
            self._shape[0] = self.element_shape.merge_with(shape)


def _check_arguments(handle: Any, size: Any, **of_a_new_array: Any) -> None:
    if handle is None:
        if size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        return
    if of_a_new_array["tensor_array_name"]:
        raise ValueError(
            "Cannot provide both `handle` and `tensor_array_name` arguments at the same time."
        )
    if not isinstance(handle, graphs.Tensor):
        raise TypeError(
            f"Expected `handle` to be a Tensor, but got `{handle}` of type `{type(handle)}` "
            "instead."
        )
    for name, value in {"size": size, **of_a_new_array}.items():
        if value is not None:
            raise ValueError(
                f"Cannot provide both `handle` and `{name}` arguments at the same time."
            )


def _known(size: Any) -> int | None:
    """Return the value of a number or a tensor if it is known before the step, or None."""
    value = convert.constant_value(size) if isinstance(size, graphs.Tensor) else size
    return None if value is None else int(np.asarray(value))
