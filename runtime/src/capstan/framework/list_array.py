"""A `tf.TensorArray` of control flow v2: a list of tensors, which is a value
(`_GraphTensorArrayV2` of python/ops/tensor_array_ops.py)."""

from typing import Any, NoReturn

import numpy as np

from capstan.core import dtypes, tensor_shape
from capstan.framework import convert, tensor_array
from capstan.framework import graph as graphs
from capstan.framework.raw import raw


class ListArray(tensor_array.TensorArray, is_list=True):
    """A TensorArray whose flow is the list of its elements. It has no handle.

    `clear_after_read`, `tensor_array_name` and `colocate_with_first_write_call` have no effect.
    """

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
        _check_arguments(flow, size, element_shape)
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        self._dynamic_size = dynamic_size or False
        self._infer_shape = infer_shape
        self._shape = [tensor_shape.as_shape(element_shape)]
        if flow is not None:
            self._flow = flow
            return
        graph = graphs.graph_of([size])
        with graph.as_default(), graph.name_scope(name or "TensorArrayV2") as scope:
            self._flow = raw.TensorListReserve(
                sizes_of(self._shape[0]), size, element_dtype=self._dtype, name=scope
            )

    @property
    def handle(self) -> Any:
        """None: the flow is the whole array."""
        return None

    @property
    def graph(self) -> Any:
        return self._flow.graph

    def with_flow(self, flow: graphs.Tensor) -> "ListArray":
        later = ListArray(self._dtype, flow=flow, infer_shape=self._infer_shape)
        later._dynamic_size = self._dynamic_size
        later._shape = self._shape
        return later

    def grad(self, source: str, flow: Any = None, name: str | None = None) -> NoReturn:
        """Raise NotImplementedError. `tf.gradients` needs no array of gradients."""
        raise NotImplementedError("A TensorArray of control flow v2 has no array of gradients.")

    def read(self, index: Any, name: str | None = None) -> graphs.Tensor:
        value: graphs.Tensor = raw.TensorListGetItem(
            self._flow,
            index,
            sizes_of(self.element_shape),
            element_dtype=self._dtype,
            name=name or "TensorArrayV2Read/TensorListGetItem",
        )
        return value

    def write(self, index: Any, value: Any, name: str | None = None) -> "ListArray":
        value = self._element(value, from_axis=0)
        flow = raw.TensorListSetItem(
            self._flow,
            index,
            value,
            resize_if_index_out_of_bounds=self._dynamic_size,
            name=name or "TensorArrayV2Write/TensorListSetItem",
        )
        return self.with_flow(flow)

    def stack(self, name: str | None = None) -> graphs.Tensor:
        value: graphs.Tensor = raw.TensorListStack(
            self._flow,
            sizes_of(self.element_shape),
            element_dtype=self._dtype,
            name=name or "TensorArrayV2Stack/TensorListStack",
        )
        return value

    def gather(self, indices: Any, name: str | None = None) -> graphs.Tensor:
        value: graphs.Tensor = raw.TensorListGather(
            self._flow,
            indices,
            sizes_of(self.element_shape),
            element_dtype=self._dtype,
            name=name,
        )
        return value

    def concat(self, name: str | None = None) -> graphs.Tensor:
        shape = self.element_shape
        known = shape if shape.ndims is None else tensor_shape.TensorShape([None, *shape[1:]])
        no_lengths = convert.constant([], dtypes.int64, name="leading_dims")
        value: graphs.Tensor
        value, _ = raw.TensorListConcatV2(
            self._flow, sizes_of(known), no_lengths, element_dtype=self._dtype, name=name
        )
        return value

    def unstack(self, value: Any, name: str | None = None) -> "ListArray":
        value = self._element(value, from_axis=1)
        rest = sizes_of(value.shape[1:])
        return self.with_flow(
            raw.TensorListFromTensor(
                value, rest, name=name or "TensorArrayUnstack/TensorListFromTensor"
            )
        )

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> "ListArray":
        value = self._element(value, from_axis=1)
        return self.with_flow(
            raw.TensorListScatterIntoExistingList(
                self._flow,
                value,
                indices,
                name=name or "TensorArrayScatter/TensorListScatterIntoExistingList",
            )
        )

    def split(self, value: Any, lengths: Any, name: str | None = None) -> "ListArray":
        value = convert.convert_to_tensor(value, None, "value", self._dtype)
        lengths = convert.convert_to_tensor(lengths)
        if lengths.dtype.base_dtype is not dtypes.int64:
            lengths = raw.Cast(lengths, DstT=dtypes.int64)
        known = convert.constant_value(lengths)
        if known is not None and value.shape.ndims is not None and len(set(known)) == 1:
            self._check_shape(tensor_shape.TensorShape([int(known[0]), *value.shape[1:]]))
        flow = raw.TensorListSplit(value, sizes_of(self.element_shape), lengths, name=name)
        return self.with_flow(flow)

    def size(self, name: str | None = None) -> graphs.Tensor:
        size: graphs.Tensor = raw.TensorListLength(self._flow, name=name)
        return size

    def close(self, name: str | None = None) -> graphs.Operation:
        """Return an operation that does nothing. A list is freed after its last use."""
        operation: graphs.Operation = raw.NoOp(name=name)
        return operation

    def _element(self, value: Any, from_axis: int) -> graphs.Tensor:
        """Return `value`, whose shape from `from_axis` on is the shape of elements, as a tensor.

        Raises:
            ValueError: the type or the shape contradicts the other elements.
        """
        tensor: graphs.Tensor = convert.convert_to_tensor(value, None, "value", self._dtype)
        if tensor.dtype.base_dtype is not self._dtype:
            raise ValueError(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{tensor.dtype.name}"
            )
        self._check_shape(tensor.shape[from_axis:])
        return tensor


def sizes_of(shape: tensor_shape.TensorShape) -> Any:
    """Return a static shape in the form that operations on lists take."""
    if shape.ndims is None:
        return np.int32(-1)
    return np.array([-1 if size is None else size for size in shape.as_list()], np.int32)


def _check_arguments(flow: Any, size: Any, element_shape: Any) -> None:
    if flow is None:
        if size is None:
            raise ValueError("Size must be provided if flow is not provided")
        return
    if not isinstance(flow, graphs.Tensor) or flow.dtype.base_dtype is not dtypes.variant:
        raise TypeError("flow must be a variant tensor")
    if size is not None:
        raise ValueError("Cannot provide both a flow and size at the same time")
    if element_shape is not None:
        raise ValueError("Cannot provide both a flow and element_shape at the same time")
