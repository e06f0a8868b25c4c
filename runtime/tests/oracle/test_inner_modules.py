"""Functions that programs import from TensorFlow's inner modules give TensorFlow's results."""

import functools
import importlib
import itertools
from typing import Any

import genuine
import numpy as np
import pytest
from oracle_tables import compare, outcome

import capstan

pytestmark = genuine.MARKS

SHAPES = [(), (1,), (3,), (2, 1), (2, 3), (1, 3), (3, 2), (2, 3, 1)]


def inner(v1: Any, module: str) -> Any:
    package = "capstan" if v1 is capstan else "tensorflow"
    return importlib.import_module(f"{package}.python.{module}")


def given(v1: Any, value: Any, knows_shape: bool) -> Any:
    return v1.constant(value) if knows_shape else v1.placeholder_with_default(value, None)


def ones(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("knows_shape", [True, False])
def test_weights_are_broadcast_as_in_tensorflow(
    v1: Any, shape: tuple[int, ...], knows_shape: bool
) -> None:
    def case(v1: Any) -> Any:
        weights = given(v1, ones(shape), knows_shape)
        module = inner(v1, "ops.weights_broadcast_ops")
        return module.broadcast_weights(weights, given(v1, ones((2, 3)), knows_shape))

    ours, theirs = outcome(capstan, case), outcome(v1, case)
    if isinstance(theirs, tuple):
        assert ours[0] == theirs[0]
        assert "weights can not be broadcast to values." in ours[1]
    else:
        assert ours == theirs


def test_strings_are_split_into_sparse_or_ragged_tensors(v1: Any) -> None:
    def sparse(v1: Any) -> list[Any]:
        split = inner(v1, "ops.string_ops").string_split_v2
        found = [split(["a b", "  c"]), split(source=["a,,b", ",c"], sep=",", maxsplit=1)]
        return [part for each in found for part in (each.indices, each.values, each.dense_shape)]

    def ragged(v1: Any) -> list[Any]:
        split = inner(v1, "ops.ragged.ragged_string_ops").string_split_v2
        found = [split(["a b", "  c"]), split([["a<>b", "c"], ["", "d"]], "<>", maxsplit=1)]
        return [part for each in found for part in (each.flat_values, *each.nested_row_splits)]

    compare(v1, [sparse, ragged])


@pytest.mark.parametrize("difference", [0, 1])
@pytest.mark.parametrize("knows_shape", [True, False])
def test_the_last_axis_of_labels_or_predictions_is_removed_as_in_tensorflow(
    v1: Any, difference: int, knows_shape: bool
) -> None:
    def case(labels: tuple[int, ...], predictions: tuple[int, ...]) -> Any:
        return lambda v1: list(
            inner(v1, "ops.confusion_matrix").remove_squeezable_dimensions(
                given(v1, ones(labels), knows_shape),
                given(v1, ones(predictions), knows_shape),
                expected_rank_diff=difference,
            )
        )

    # If the step decides, TensorFlow 1.15 fails for a last axis of another size.
    # Later versions keep the axis.
    wide = [(2,), (2, 3), (2, 3, 1)] if knows_shape else [(1,)]
    shapes = [*wide, (2, 1), (2, 1, 1)]
    compare(v1, [case(*each) for each in itertools.product(shapes, repeat=2)])


def test_features_are_crossed_as_in_tensorflow(v1: Any) -> None:
    def features(v1: Any) -> list[Any]:
        places = [[0, 0], [0, 1], [2, 0]]
        return [
            v1.constant([["a", "b"], ["c", "d"], ["e", "f"]]),
            v1.SparseTensor(places, v1.constant([2, 1, 7], v1.int32), [3, 2]),
            v1.SparseTensor(places, ["x", "y", "z"], [3, 2]),
        ]

    def parts(sparse: Any) -> list[Any]:
        return [sparse.indices, sparse.values, sparse.dense_shape]

    compare(
        v1,
        [
            lambda v1: parts(v1.sparse.cross(features(v1))),
            lambda v1: parts(v1.sparse.cross(features(v1)[1:])),
            lambda v1: parts(v1.sparse.cross_hashed(features(v1), 13)),
            lambda v1: parts(v1.sparse.cross_hashed(features(v1), hash_key=5)),
        ],
    )


def test_the_lengths_of_convolutions_are_tensorflows(v1: Any) -> None:
    ours, theirs = (inner(each, "layers.utils") for each in (capstan, v1))
    for case in itertools.product((None, 5, 8), (1, 2, 3), ("same", "valid", "full"), (1, 2, 3)):
        assert ours.conv_output_length(*case) == theirs.conv_output_length(*case)
        assert ours.conv_output_length(*case, 2) == theirs.conv_output_length(*case, 2)
        assert ours.conv_input_length(*case) == theirs.conv_input_length(*case)
        assert ours.deconv_output_length(*case) == theirs.deconv_output_length(*case)


@pytest.mark.parametrize("is_static", [True, False])
def test_the_sizes_of_a_state_are_joined_as_in_tensorflow(v1: Any, is_static: bool) -> None:
    def case(prefix: Any, suffix: Any) -> Any:
        def build(v1: Any) -> Any:
            module = inner(v1, "ops.rnn_cell_impl")
            sizes = (each(v1) if callable(each) else each for each in (prefix, suffix))
            joined = module._concat(*sizes, static=is_static)
            if not is_static:
                return joined
            return v1.constant("none" if joined is None else str(joined))

        return build

    sizes: list[Any] = [
        *(4, lambda v1: v1.TensorShape([2, 3]), lambda v1: v1.constant(6)),
        lambda v1: v1.constant([7, 8]),
    ]
    unknown: list[Any] = [
        *(lambda v1: v1.TensorShape([None, 3]), lambda v1: v1.constant([[1]])),
    ]
    pairs = [*itertools.product(sizes, repeat=2), *itertools.product(sizes[:2], unknown)]
    for prefix, suffix in pairs:
        build = case(prefix, suffix)
        ours, theirs = outcome(capstan, build), outcome(v1, build)
        assert ours[0] == theirs[0]


@pytest.mark.parametrize("cell", [object(), len])
def test_an_object_that_is_not_like_a_cell_is_refused_as_in_tensorflow(v1: Any, cell: Any) -> None:
    messages = []
    for each in (capstan, v1):
        with pytest.raises(TypeError) as caught:
            inner(each, "ops.rnn_cell_impl").assert_like_rnncell("cell", cell)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("shape", "axes"), [([2, 3, 5, 7], [1, 2]), ([2, 3], [-1]), ([4], []), ([2, 3, 4], [0, -1])]
)
def test_the_shape_of_a_reduction_is_tensorflows(v1: Any, shape: Any, axes: Any) -> None:
    def case(v1: Any) -> Any:
        sizes = v1.placeholder_with_default(np.array(shape, np.int64), [len(shape)])
        places = v1.placeholder_with_default(np.array(axes, np.int32), [len(axes)])
        return inner(v1, "ops.math_ops").reduced_shape(sizes, places)

    compare(v1, [case])


def pure_scopes(v1: Any) -> Any:
    """Return the names of variables, operations and scopes in scopes without name scopes."""
    pure = inner(v1, "ops.variable_scope")._pure_variable_scope
    names = []
    with v1.Graph().as_default(), v1.name_scope("outer"):
        with pure("one", initializer=v1.zeros_initializer()) as one:
            made = v1.get_variable("v", [2])
            names += [made.name, v1.constant(1).name, one.name, one.original_name_scope]
            with pure("two", dtype=v1.float64, old_name_scope="old/") as two:
                names += [two.name, two.original_name_scope, v1.get_variable("v", [1]).dtype.name]
        with pure(one, reuse=True) as again:
            names += [v1.get_variable("v", [2]) is made, again.name, again.original_name_scope]
    return names


def test_a_pure_variable_scope_is_tensorflows(v1: Any) -> None:
    assert pure_scopes(capstan) == pure_scopes(v1)


class Callable:
    def __call__(self, x: Any, **options: Any) -> Any:
        raise AssertionError

    def method(self, x: Any, y: Any = 1, *rest: Any, z: Any = 2) -> Any:
        raise AssertionError

    @classmethod
    def of_class(cls, x: Any) -> Any:
        raise AssertionError


CALLABLES: list[Any] = [
    *(compare, Callable(), Callable().method, Callable.of_class, Callable.method, len),
    *(functools.partial(compare, 1), functools.partial(Callable().method, y=3), 3),
    functools.partial(functools.partial(Callable.method, 1), x=2),
]


@pytest.mark.parametrize("name", ["fn_args", "has_kwargs", "get_func_name", "get_func_code"])
def test_the_names_and_arguments_of_functions_are_tensorflows(v1: Any, name: str) -> None:
    def outcome(v1: Any, each: Any) -> Any:
        try:
            return getattr(inner(v1, "util.function_utils"), name)(each)
        except (TypeError, ValueError) as error:
            return type(error)

    for each in CALLABLES:
        assert outcome(capstan, each) == outcome(v1, each), each
