"""Lists of tensors: every version of a list keeps its elements, whatever happens to the others."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capstan import errors
from capstan.core import dtypes
from capstan.resources import tensor_list, variant, variant_message

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["push", "pop", "set", "grow"]), st.integers(0, 20), st.integers(0, 6)
    ),
    max_size=30,
)


@pytest.mark.e2e
@given(STEPS, st.lists(st.integers(0, 30), max_size=10))
def test_every_version_is_as_a_copy_would_be(
    steps: list[tuple[str, int, int]], reads: list[int]
) -> None:
    lists = [tensor_list.TensorList(dtypes.int32, ())]
    models: list[list[int | None]] = [[]]
    for number, (kind, version, index) in enumerate(steps):
        version %= len(lists)
        before, model = lists[version], list(models[version])
        if kind == "push":
            lists.append(before.pushed(number))
            model.append(number)
        elif kind == "pop" and model:
            lists.append(before.popped())
            model.pop()
        elif kind == "set" and model:
            lists.append(before.with_element(index % len(model), number))
            model[index % len(model)] = number
        elif kind == "grow":
            lists.append(before.with_element(len(model) + index, number))
            model += [None] * index + [number]
        else:
            continue
        models.append(model)
        assert lists[-1].length == len(model)
    for read in [*reads, *range(len(lists))]:
        assert lists[read % len(lists)].elements == models[read % len(lists)]


@pytest.mark.e2e
def test_a_loop_may_push_set_and_pop_a_hundred_thousand_elements() -> None:
    first = found = tensor_list.TensorList(dtypes.int32, ())
    for number in range(100_000):
        found = found.pushed(number)
        found = found.with_element(number, number + 1)
    full = found
    for _ in range(100_000):
        found = found.popped()
    assert (first.length, found.length, full.length) == (0, 0, 100_000)
    assert full.element(99_999) == 100_000


@pytest.mark.e2e
def test_threads_may_use_versions_of_one_list() -> None:
    start = tensor_list.TensorList(dtypes.int32, (), range(10))
    found: list[list[int]] = []

    def work(number: int) -> None:
        mine = start
        for index in range(200):
            mine = mine.with_element(index % 10, number).pushed(index).popped()
        found.append([number, *mine.elements])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(100, 108)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [[number] * 11 for number in range(100, 108)]
    assert start.elements == list(range(10))


def test_a_resource_in_a_list_cannot_leave_its_task() -> None:
    held = tensor_list.TensorList(dtypes.resource, (), [object()])
    with pytest.raises(errors.UnimplementedError, match="on the task of the resource"):
        variant.to_bytes(held)


@pytest.mark.parametrize("content", [b"\xff", b"\x0a\x03abc", b"\x0a\x16tensorflow::TensorList"])
def test_bytes_that_are_no_variant_are_refused(content: bytes) -> None:
    with pytest.raises(errors.DataLossError, match="cannot be read"):
        variant_message.decoded(np.array(content, object))


def test_a_list_with_an_element_of_another_type_is_refused() -> None:
    from tensorboard.compat.proto import tensor_pb2

    mixed = tensor_list.TensorList(dtypes.int32, (), [np.int32(1)])
    proto = tensor_pb2.VariantTensorDataProto.FromString(variant.to_bytes(mixed))
    proto.tensors[0].dtype = dtypes.float32.as_datatype_enum
    with pytest.raises(errors.DataLossError, match="an element of a list of int32"):
        variant_message.decoded(np.array(proto.SerializeToString(), object))
