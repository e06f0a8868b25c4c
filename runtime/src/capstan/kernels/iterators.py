"""Kernels of iterators. A handle of an iterator is the `resources.iterator.Iterator` itself."""

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from capstan import errors
from capstan.core import attr_value, dtypes, tfrecord
from capstan.kernels import datasets, resources
from capstan.kernels.arithmetic import constantly
from capstan.kernels.registry import Function, Kernel, NodeContext, register
from capstan.kernels.rejection import invalid, string
from capstan.resources import (
    cardinality,
    dataset,
    dataset_run,
    elements,
    iterator,
    iterator_state,
    optional,
    record_files,
    variant,
)
from capstan.resources.dataset import Captured, Spec

_KIND = "iterator"


def _verify(spec: Spec) -> Callable[[iterator.Iterator], None]:
    return lambda found: iterator.check_spec(spec, found.spec)


def _iterator(node: NodeContext) -> Function:
    spec = datasets.spec_of(node)
    made = resources.named(node, _KIND, lambda name: iterator.Iterator(name, spec), _verify(spec))
    return lambda: made


def _one_shot(node: NodeContext) -> Function:
    spec, factory = datasets.spec_of(node), datasets.captured(node, "dataset_factory")

    def make(name: Any) -> iterator.Iterator:
        made = iterator.Iterator(name, spec)
        (tensor,) = factory.bound(dataset_run.Run())()
        made.initialize(datasets.dataset_in(tensor))
        return made

    def find() -> Any:
        return resources.named(node, _KIND, make, _verify(spec))

    return find


def iterator_in(handle: Any) -> iterator.Iterator:
    """Return the iterator behind a handle.

    Raises:
        InvalidArgumentError: there is none on this task.
    """
    found = resources.behind(handle)
    if not isinstance(found, iterator.Iterator):
        raise invalid(
            "The handle refers to no iterator of this task. Place the operation on the task of the "
            "iterator"
        )
    return found


def _make_iterator(plan: Any, handle: Any) -> None:
    iterator_in(handle).initialize(datasets.dataset_in(plan))


def _get_next(node: NodeContext) -> Function:
    def get_next(handle: Any, *, done: Any, cancellation: Any) -> None:
        iterator_in(handle).get_next(done, cancellation)

    return get_next


def _get_optional(node: NodeContext) -> Function:
    types = tuple(node.attrs["output_types"])

    def wrapped(element: Any) -> Sequence[Any]:
        found = optional.Optional() if element is None else optional.Optional(element, types)
        return (variant.scalar(found),)

    def get_next(handle: Any, *, done: Any, cancellation: Any) -> None:
        iterator_in(handle).get_next(done, cancellation, wrapped)

    return get_next


def _to_string(node: NodeContext) -> Function:
    def to_string(handle: Any) -> Any:
        sent = node.resources.handles.sent(iterator_in(handle), node.device)
        return elements.scalar(sent.tobytes())

    return to_string


def _from_string(node: NodeContext) -> Function:
    types = tuple(node.attrs["output_types"])
    shapes = tuple(shape.internal for shape in node.attrs["output_shapes"])
    spec = Spec(types, shapes or (None,) * len(types))

    def from_string(text: Any) -> Any:
        handle = np.frombuffer(string(text, "string_handle"), dtypes.np_resource)
        try:
            found = iterator_in(node.resources.handles.received(handle))
        except errors.InvalidArgumentError:
            raise invalid(
                "string_handle is not the string handle of an iterator of the task "
                f"{node.device}. Fetch it from `Iterator.string_handle()`, and place both "
                "iterators on one task"
            ) from None
        iterator.check_spec(spec, found.spec)
        return found

    return from_string


def _cardinality(plan: Any) -> Any:
    return np.int64(cardinality.of(datasets.dataset_in(plan)))


def _serialize(handle: Any) -> Any:
    return variant.scalar(iterator_state.IteratorState(iterator_in(handle).position()))


def _deserialize(handle: Any, tensor: Any) -> None:
    state = tensor.item()
    if not isinstance(state, iterator_state.IteratorState):
        raise invalid("serialized is not the state of an iterator")
    iterator_in(handle).restore(state.position)


def in_thread(
    run: dataset_run.Run, compute: Callable[[], Sequence[Any]], done: Any, cancellation: Any
) -> None:
    """Answer `done` with the results of `compute`, from a thread of its own."""
    lock = threading.Lock()
    is_answered: list[bool] = []

    def answer(outputs: Sequence[Any], error: Any) -> None:
        with lock:
            if is_answered:
                return
            is_answered.append(True)
        done(outputs, error)

    def cancel(error: Any) -> None:
        run.stop()
        answer((), error)

    deregister = cancellation.register(cancel)

    def work() -> None:
        np.seterr(all="ignore")
        try:
            answer(compute(), None)
        except Exception as fault:  # noqa: BLE001 - the step's error
            answer((), errors.from_exception(fault))
        finally:
            deregister()
            run.stop()

    context = contextvars.Context()
    threading.Thread(target=context.run, args=(work,), name="capstan-dataset", daemon=True).start()


def _single_element(node: NodeContext) -> Function:
    def single(tensor: Any, *, done: Any, cancellation: Any) -> None:
        plan, run = datasets.dataset_in(tensor), dataset_run.Run()

        def compute() -> Sequence[Any]:
            found: list[dataset.Element] = dataset.first(plan.start(run), 2)
            if len(found) != 1:
                reason = "had more than one element" if found else "was empty"
                raise invalid(f"Dataset {reason}.")
            return elements.writeable(found[0])

        in_thread(run, compute, done, cancellation)

    return single


def _reduce(node: NodeContext) -> Function:
    count, kept = len(node.attrs["Tstate"]), datasets.captured(node, "f")

    def reduce(tensor: Any, *inputs: Any, done: Any, cancellation: Any) -> None:
        plan, run = datasets.dataset_in(tensor), dataset_run.Run()
        initial, others = (
            tuple(map(datasets.owned, each)) for each in (inputs[:count], inputs[count:])
        )
        function = Captured(kept.callee, others).bound(run)

        def compute() -> Sequence[Any]:
            state = initial
            for element in plan.start(run):
                run.check()
                try:
                    state = function(*state, *element)
                except StopIteration as end:
                    raise invalid("Function invocation produced OutOfRangeError") from end
            return elements.writeable(state)

        in_thread(run, compute, done, cancellation)

    return reduce


def _write_records(node: NodeContext) -> Function:
    def write(
        tensor: Any, filename: Any, compression_type: Any, *, done: Any, cancellation: Any
    ) -> None:
        plan, run = datasets.dataset_in(tensor), dataset_run.Run()
        name = attr_value.text(string(filename, "filename"))
        compression = attr_value.text(string(compression_type, "compression_type"))

        def compute() -> Sequence[Any]:
            with record_files.writing(name, compression) as append:
                for element in plan.start(run):
                    run.check()
                    append(tfrecord.encode(element[0].item()))
            return ()

        in_thread(run, compute, done, cancellation)

    return write


register(Kernel("Iterator", _iterator))
register(Kernel("IteratorV2", _iterator))
register(Kernel("OneShotIterator", _one_shot))
register(Kernel("MakeIterator", constantly(_make_iterator)))
register(Kernel("IteratorGetNext", start=_get_next))
register(Kernel("IteratorGetNextSync", start=_get_next))
register(Kernel("IteratorGetNextAsOptional", start=_get_optional))
register(Kernel("IteratorToStringHandle", _to_string))
register(Kernel("IteratorFromStringHandle", _from_string))
register(Kernel("IteratorFromStringHandleV2", _from_string))
register(Kernel("SerializeIterator", constantly(_serialize)))
register(Kernel("DeserializeIterator", constantly(_deserialize)))
for _op in ("DatasetCardinality", "ExperimentalDatasetCardinality"):
    register(Kernel(_op, constantly(_cardinality)))
register(Kernel("DatasetToSingleElement", start=_single_element))
register(Kernel("ReduceDataset", start=_reduce))
for _op in ("DatasetToTFRecord", "ExperimentalDatasetToTFRecord"):
    register(Kernel(_op, start=_write_records))
