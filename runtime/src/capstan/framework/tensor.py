"""The tensors between the operations of a graph: `tf.Tensor` (python/framework/ops.py)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Self

from capstan.core import dtypes, node, shapes, tensor_shape
from capstan.framework import defaults, graph_state, operand

if TYPE_CHECKING:
    from capstan.framework.operation import Operation


class Tensor(operand.Operand):
    """Output `value_index` of an operation. Programs may add attributes of their own."""

    __slots__ = (
        *("__dict__", "__weakref__"),
        *("_consumers", "_dtype", "_edge", "_index", "_op", "_shape", "assign"),
    )

    assign: Callable[..., Any]
    """`assign(value, name=None)` changes the part of a variable that this tensor is. Only a slice
    of a variable has this attribute."""

    def __init__(
        self, op: "Operation", value_index: int, dtype: dtypes.DType, shape: shapes.Shape
    ) -> None:
        self._op = op
        self._index = value_index
        self._dtype = dtype
        self._shape = shape
        self._consumers: list[Operation] = []
        self._edge: node.Edge | None = None

    @property
    def op(self) -> "Operation":
        return self._op

    @property
    def value_index(self) -> int:
        return self._index

    @property
    def dtype(self) -> dtypes.DType:
        """The type of the elements. It is a reference type if the tensor stands for a variable."""
        return self._dtype

    @property
    def graph(self) -> graph_state.GraphState:
        return self._op.graph

    @property
    def name(self) -> str:
        return f"{self._op.name}:{self._index}"

    @property
    def edge(self) -> node.Edge:
        """The name of the tensor in the IR. All readers share it."""
        if self._edge is None:
            self._edge = node.Edge(self._op.name, self._index)
        return self._edge

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def shape(self) -> tensor_shape.TensorShape:
        """The static shape: the part of the shape that is known before a step.

        The handle of a variable is a scalar.
        """
        is_handle = self._dtype is dtypes.resource
        return tensor_shape.unchecked(shapes.of_handles(self._shape) if is_handle else self._shape)

    def get_shape(self) -> tensor_shape.TensorShape:
        return self.shape

    @property
    def static_shape(self) -> shapes.Shape:
        """The static shape that shape rules see, as a plain value. See `core.shapes`.

        For the handle of a variable, this is the shape of the variable.
        """
        return self._shape

    @property
    def inferred_shape(self) -> tensor_shape.TensorShape:
        """The static shape that shape rules see."""
        return tensor_shape.unchecked(self._shape)

    def _shape_as_list(self) -> list[int | None] | None:
        known = self.shape.internal
        return None if known is None else list(known)

    def set_shape(self, shape: Any) -> None:
        """Merge `shape` into the static shape. Raise ValueError if the two shapes contradict."""
        merged = self.shape.merge_with(shape).internal
        if self._dtype is not dtypes.resource:
            self._shape = merged
        elif merged:
            self._shape = shapes.OfHandles(merged)

    def infer_shape(self, shape: tensor_shape.TensorShape) -> None:
        """Merge `shape`, the shape that shape rules see, into the static shape."""
        self._shape = self.inferred_shape.merge_with(shape).internal

    def _as_tf_output(self) -> Self:
        """Return the tensor that functions of `python.pywrap_tensorflow` take."""
        return self

    def consumers(self) -> "list[Operation]":
        """Return the operations that read this tensor, in the order of their creation."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value of the tensor in `session` or the default session. Blocks.

        Raises:
            ValueError: there is no session, or it is a session of another graph.
        """
        session = defaults.session_for(self.graph, session, "evaluate", "tensor", "eval")
        return session.run(self, feed_dict)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` "
            "instead of `if t:` to test if a tensor is defined, and use TensorFlow ops such as "
            "tf.cond to execute subgraphs conditioned on the value of a tensor."
        )

    # Python 2's name, which programs forward with the other operators.
    __nonzero__ = __bool__

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array. Use operations of "
            "tf instead of functions of NumPy, or evaluate the tensor first"
        )

    def __str__(self) -> str:
        shape = "" if self._shape is None else f", shape={self.shape}"
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self._dtype.name}>"
