"""Lists, optionals and truth values give the results and the errors of TensorFlow's kernels."""

from collections.abc import Callable, Iterator
from typing import Any

import genuine
import numpy as np
import pytest
import strict

import capstan
from capstan.core import dtypes
from capstan.resources import optional, tensor_list, variant, variant_message

pytestmark = genuine.MARKS

F, INT, S = "float32", "int32", "string"


def made(r: Any, shape: Any = (2,), rows: int = 2, limit: int = -1) -> Any:
    """Return a list of vectors: [0, 1], [2, 3] and so on."""
    found = r.EmptyTensorList(
        element_shape=np.int32(shape), max_num_elements=limit, element_dtype=F
    )
    for row in range(rows):
        value = np.float32([2 * row, 2 * row + 1])
        found = r.TensorListPushBack(input_handle=found, tensor=value)
    return found


def reserved(r: Any, count: int = 3, shape: Any = (2,)) -> Any:
    """Return a list of which only element 1 is set."""
    found = r.TensorListReserve(element_shape=np.int32(shape), num_elements=count, element_dtype=F)
    return r.TensorListSetItem(input_handle=found, index=1, item=np.float32([7, 8]))


def stack(r: Any, handle: Any, shape: Any = -1, **attrs: Any) -> Any:
    return r.TensorListStack(
        input_handle=handle, element_shape=np.int32(shape), element_dtype=F, **attrs
    )


def pop(r: Any, handle: Any, shape: Any = -1) -> Any:
    return r.TensorListPopBack(input_handle=handle, element_shape=np.int32(shape), element_dtype=F)


def item(r: Any, handle: Any, index: int, shape: Any = -1, dtype: str = F) -> Any:
    return r.TensorListGetItem(
        input_handle=handle, index=index, element_shape=np.int32(shape), element_dtype=dtype
    )


def gather(r: Any, handle: Any, indices: Any, shape: Any = -1) -> Any:
    return r.TensorListGather(
        input_handle=handle, indices=np.int32(indices), element_shape=np.int32(shape),
        element_dtype=F,
    )  # fmt: skip


def scatter(r: Any, rows: Any, indices: Any, shape: Any = -1, count: int = -1) -> Any:
    return r.TensorListScatterV2(
        tensor=np.float32(rows), indices=np.int32(indices), element_shape=np.int32(shape),
        num_elements=count,
    )  # fmt: skip


def split(r: Any, rows: Any, lengths: Any, shape: Any = -1) -> Any:
    return r.TensorListSplit(
        tensor=np.float32(rows), element_shape=np.int32(shape), lengths=np.int64(lengths)
    )


def concat(r: Any, handle: Any, shape: Any = -1, leading: Any = ()) -> Any:
    return r.TensorListConcatV2(
        input_handle=handle, element_shape=np.int32(shape), leading_dims=np.int64(leading),
        element_dtype=F,
    )  # fmt: skip


def got(r: Any, tensor: Any, types: Any = (F,), shapes: Any = ([],)) -> Any:
    return r.OptionalGetValue(optional=tensor, output_types=list(types), output_shapes=list(shapes))


def old_versions(r: Any) -> Any:
    """Read versions of a list after other operations have changed them."""
    first = made(r)
    rest, last = pop(r, first)
    pushed = r.TensorListPushBack(input_handle=rest, tensor=np.float32([9, 9]))
    changed = r.TensorListSetItem(input_handle=pushed, index=0, item=np.float32([5, 5]))
    return [last, *(stack(r, each) for each in (changed, first, pushed, rest, changed))]


def of_lists(r: Any) -> Any:
    """Push lists onto a list."""
    outer = r.EmptyTensorList(
        element_shape=np.int32([]), max_num_elements=-1, element_dtype="variant"
    )
    for rows in (1, 2):
        outer = r.TensorListPushBack(input_handle=outer, tensor=made(r, rows=rows))
    total = r.AddN(inputs=[outer, outer, r.ZerosLike(x=outer)])
    _, last = r.TensorListPopBack(
        input_handle=total, element_shape=np.int32([]), element_dtype="variant"
    )
    return stack(r, last)


def batch(r: Any) -> Any:
    handles = r.Pack(values=[made(r), made(r, rows=1)], axis=0)
    pushed = r.TensorListPushBackBatch(input_handles=handles, tensor=np.float32([[7, 7], [8, 8]]))
    first, second = r.Unpack(value=pushed, num=2, axis=0)
    return [stack(r, first), stack(r, second)]


CASES: dict[str, Callable[[Any], Any]] = {
    "stack": lambda r: stack(r, made(r), [2], num_elements=2),
    "stack of unset elements": lambda r: stack(r, reserved(r)),
    "stack of nothing": lambda r: stack(r, made(r, rows=0)),
    "stack of nothing of unknown shape": lambda r: stack(r, made(r, [-1], rows=0)),
    "stack of another number": lambda r: stack(r, made(r), num_elements=3),
    "stack of another shape": lambda r: stack(r, made(r), [3]),
    "stack of another rank": lambda r: stack(r, made(r), [2, 2]),
    "stack of only unset elements": lambda r: stack(
        r, r.TensorListReserve(element_shape=-1, num_elements=2, element_dtype=F)
    ),
    "a scalar shape": lambda r: stack(r, made(r), 2),
    "length": lambda r: r.TensorListLength(input_handle=made(r)),
    "element shape": lambda r: [
        r.TensorListElementShape(input_handle=made(r, shape), shape_type=kind)
        for shape, kind in (([2], INT), ([-1], "int64"), (-1, INT))
    ],
    "old versions": old_versions,
    "of lists": of_lists,
    "batch": batch,
    "pop of nothing": lambda r: pop(r, made(r, rows=0))[1],
    "pop of an unset element": lambda r: pop(r, reserved(r))[1],
    "pop of an unset element of unknown shape": lambda r: pop(r, reserved(r, shape=-1))[1],
    "push of another shape": lambda r: r.TensorListLength(input_handle=made(r, [3])),
    "push onto a full list": lambda r: r.TensorListLength(input_handle=made(r, limit=1)),
    "items": lambda r: [item(r, made(r), 1), item(r, reserved(r), 0), item(r, reserved(r), 1)],
    "item of inferred shape": lambda r: item(r, reserved(r, shape=-1), 0),
    "item past the end": lambda r: item(r, made(r), 2),
    "set past the end": lambda r: r.TensorListSetItem(
        input_handle=made(r), index=5, item=np.float32([1, 1])
    ),
    "set of another shape": lambda r: r.TensorListSetItem(
        input_handle=made(r), index=0, item=np.float32([1])
    ),
    "set that resizes": lambda r: stack(
        r,
        r.TensorListSetItem(
            input_handle=made(r), index=3, item=np.float32([1, 1]),
            resize_if_index_out_of_bounds=True,
        ),
    ),
    "resize": lambda r: [
        stack(r, r.TensorListResize(input_handle=made(r), size=size)) for size in (1, 3)
    ],
    "resize to a negative size": lambda r: r.TensorListResize(input_handle=made(r), size=-1),
    "gather": lambda r: gather(r, reserved(r), [1, 1, 0]),
    "gather past the end": lambda r: gather(r, made(r), [5]),
    "gather of nothing": lambda r: gather(r, made(r, [-1]), []),
    "from tensor": lambda r: stack(
        r, r.TensorListFromTensor(tensor=np.float32([[1, 2], [3, 4]]), element_shape=np.int32([2]))
    ),
    "from a scalar": lambda r: r.TensorListFromTensor(tensor=np.float32(1), element_shape=-1),
    "from a tensor of another shape": lambda r: r.TensorListFromTensor(
        tensor=np.float32([[1, 2]]), element_shape=np.int32([3])
    ),
    "scatter": lambda r: stack(r, scatter(r, [[1, 2], [3, 4]], [3, 1], [2])),
    "scatter into a number": lambda r: stack(r, scatter(r, [[1, 2]], [0], [2], 3)),
    "scatter at a negative index": lambda r: scatter(r, [[1, 2]], [-1]),
    "scatter past the number": lambda r: scatter(r, [[1, 2]], [4], count=3),
    "scatter of too few rows": lambda r: scatter(r, [[1, 2]], [0, 1]),
    "old scatter": lambda r: stack(
        r,
        r.TensorListScatter(
            tensor=np.float32([[1, 2]]), indices=np.int32([1]), element_shape=np.int32([2])
        ),
    ),
    "scatter into a list": lambda r: stack(
        r,
        r.TensorListScatterIntoExistingList(
            input_handle=made(r), tensor=np.float32([[1, 1], [2, 2]]), indices=np.int32([2, 0])
        ),
    ),
    "concat": lambda r: concat(r, split(r, [[1, 2], [3, 4], [5, 6]], [1, 2])),
    "concat of unset elements": lambda r: concat(r, reserved(r, shape=-1), [-1], [2, 2, 1]),
    "concat of unset elements of the same length": lambda r: concat(r, reserved(r, shape=-1)),
    "concat of scalars": lambda r: concat(
        r, r.TensorListFromTensor(tensor=np.float32([1, 2]), element_shape=np.int32([]))
    ),
    "concat of nothing": lambda r: concat(r, made(r, -1, rows=0)),
    "old concat": lambda r: r.TensorListConcat(
        input_handle=made(r), element_dtype=F, element_shape=[2]
    ),
    "split": lambda r: item(r, split(r, [1, 2, 3], [2, 1], [-1]), 0),
    "split of too little": lambda r: split(r, [1, 2, 3], [1, 1]),
    "split of too much": lambda r: split(r, [1, 2, 3], [1, 5]),
    "split into a negative length": lambda r: split(r, [1, 2, 3], [4, -1]),
    "split of a scalar": lambda r: split(r, 1, [1]),
    "concatenated lists": lambda r: stack(
        r, r.TensorListConcatLists(input_a=made(r), input_b=reserved(r), element_dtype=F)
    ),
    "concatenated lists of other shapes": lambda r: r.TensorListConcatLists(
        input_a=made(r), input_b=made(r, [-1]), element_dtype=F
    ),
    "sum": lambda r: stack(r, r.AddN(inputs=[made(r), reserved(r, 2)])),
    "sum of other lengths": lambda r: r.AddN(inputs=[made(r), made(r, rows=1)]),
    "sum of other shapes": lambda r: r.AddN(inputs=[made(r, rows=0), made(r, [3], rows=0)]),
    "text": lambda r: r.TensorListStack(
        input_handle=r.TensorListSetItem(
            input_handle=r.TensorListReserve(
                element_shape=np.int32([]), num_elements=2, element_dtype=S
            ),
            index=1, item=np.array(b"b", object),
        ),
        element_shape=-1, element_dtype=S,
    ),
    "optional": lambda r: [
        r.OptionalHasValue(optional=r.OptionalFromValue(components=[np.float32(1)])),
        r.OptionalHasValue(optional=r.OptionalNone()),
        got(r, r.OptionalFromValue(components=[np.float32(1)]))[0],
    ],
    "zeros of an optional": lambda r: got(
        r, r.ZerosLike(x=r.OptionalFromValue(components=[np.float32(1)]))
    )[0],
    "sum of optionals": lambda r: got(
        r, r.AddN(inputs=[r.OptionalFromValue(components=[np.float32(1)])] * 3)
    )[0],
    "sum with no value": lambda r: r.AddN(
        inputs=[r.OptionalNone(), r.OptionalFromValue(components=[np.float32(1)])]
    ),
    "no value": lambda r: got(r, r.OptionalNone())[0],
    "optional of another type": lambda r: got(
        r, r.OptionalFromValue(components=[np.int32(1)])
    )[0],
    "optional of another shape": lambda r: got(
        r, r.OptionalFromValue(components=[np.float32([1, 2])])
    )[0],
    "not a list": lambda r: r.TensorListLength(input_handle=r.OptionalNone()),
    "not an optional": lambda r: r.OptionalHasValue(optional=made(r)),
    "truth": lambda r: [
        r.ToBool(input=np.array(value))
        for value in (0, 2, -0.5, 0.0, [0.0], np.zeros((0, 2)), True)
    ] + [r.ToBool(input=np.array(value, object)) for value in (b"", b"x")],
}  # fmt: skip


def reason(error: Any) -> str:
    """Return the line of a message that names the fault."""
    message = error.message.partition("Node: ")[2].partition("\n")[2] or error.message
    lines = [line for line in message.splitlines() if line and not line.startswith("From /")]
    return lines[0].partition(" [[")[0].partition(" [Op:")[0]


def outcome(tf: Any, raw: Any, name: str, target: str) -> Any:
    """Return the values, or the class and the reason of the error."""
    with tf.Graph().as_default():
        found = CASES[name](raw)
        tensors = list(found) if isinstance(found, list | tuple) else [found]
        fetches = [each for each in tensors if each.dtype != "variant"]
        targets = [each.op for each in tensors]
        with tf.Session(target) as session:
            try:
                values = session.run([fetches, targets])[0]
            except (capstan.errors.OpError, tf.errors.OpError) as error:
                return type(error).__name__, reason(error)
    return [(np.asarray(value).dtype, np.asarray(value).tolist()) for value in values]


class Hidden:
    """TensorFlow's `raw_ops`. Arrays become tensors whose values and shapes are unknown.

    If TensorFlow knew a wrong value, it would refuse the graph, and no kernel would see the value.
    """

    def __init__(self, tf: Any) -> None:
        self._tf = tf

    def __getattr__(self, op: str) -> Callable[..., Any]:
        def build(**arguments: Any) -> Any:
            return getattr(self._tf.raw_ops, op)(
                **{
                    name: self._tf.compat.v1.placeholder_with_default(value, None)
                    if isinstance(value, np.ndarray | np.generic)
                    else value
                    for name, value in arguments.items()
                }
            )

        return build


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_has_the_outcome_of_tensorflow(
    tf: Any, v1: Any, tasks: genuine.Tasks, name: str
) -> None:
    expected = outcome(v1, Hidden(tf), name, "")
    assert outcome(v1, Hidden(tf), name, tasks.target()) == expected


@pytest.fixture(scope="module")
def gpu() -> Iterator[str]:
    """The target of a task with a simulated GPU."""
    with strict.installed():
        server = capstan.train.Server.create_local_server()
    yield server.target
    server.stop()


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_of_a_gpu_has_the_outcome_of_tensorflow(
    tf: Any, v1: Any, gpu: str, name: str
) -> None:
    expected = outcome(v1, Hidden(tf), name, "")
    assert outcome(v1, Hidden(tf), name, gpu) == expected


def test_tensorflow_reads_the_message_of_a_variant(tf: Any) -> None:
    elements = [np.float32([1, 2]), None, np.float32([3, 4])]
    numbers = tensor_list.TensorList(dtypes.float32, (None,), elements, 5)
    present = optional.Optional((variant.scalar(numbers),), (dtypes.variant,))
    for value in (numbers, present):
        message = variant.tensor_to_proto(variant.scalar(value), dtypes.variant)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            handle = tf.io.parse_tensor(message.SerializeToString(), tf.variant)
            if value is present:
                (handle,) = got(tf.raw_ops, handle, [tf.variant])
            stacked = stack(tf.raw_ops, handle, [2])
            assert session.run(stacked).tolist() == [[1, 2], [0, 0], [3, 4]]
        read = variant_message.decoded(np.array(variant.to_bytes(value), object)).item()
        assert variant.to_bytes(read) == variant.to_bytes(value)
