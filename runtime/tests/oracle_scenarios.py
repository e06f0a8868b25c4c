"""Small programs for TensorFlow's client, for ops that one call cannot test.

Each program takes `tf`, a random generator, and whether its variables are resources. It builds a
graph and returns the fetches to run, in order: a tensor, an operation, or a list of these.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Scenario = Callable[[Any, np.random.Generator, bool], Sequence[Any]]


def _variable(tf: Any, name: str, value: Any, is_resource: bool) -> Any:
    return tf.compat.v1.get_variable(name, initializer=value, use_resource=is_resource)


def _numbers(draw: np.random.Generator, *shape: int) -> Any:
    return draw.normal(size=shape).astype(draw.choice([np.float32, np.float64]))


def assigning(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    # The variable is not empty, because TensorFlow always reports an empty one as initialized.
    value = _numbers(draw, *draw.integers(1, 4, draw.integers(0, 3)))
    v = _variable(tf, "v", value, is_resource)
    is_set = tf.compat.v1.is_variable_initialized(v)
    read = v.read_value()
    changes = [v.assign(value * 2), v.assign_add(value), v.assign_sub(value * 3)]
    return [is_set, v.initializer, is_set, *(step for c in changes for step in (c.op, read))]


def scattering(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    rows, width = draw.integers(1, 5, 2)
    v = _variable(tf, "v", _numbers(draw, rows, width), is_resource)
    kind = draw.choice([np.int32, np.int64])
    indices = draw.integers(0, rows, draw.integers(0, 6)).astype(kind)
    updates = draw.normal(size=(len(indices), width)).astype(v.dtype.as_numpy_dtype)
    distinct, first = np.unique(indices, return_index=True)
    v1 = tf.compat.v1
    changes = [
        v1.scatter_add(v, indices, updates),
        v1.scatter_sub(v, indices, updates * 2),
        v1.scatter_update(v, distinct, updates[first]),
    ]
    looked_up = tf.nn.embedding_lookup(v, indices)
    return [v.initializer, *(step for c in changes for step in (c.op, v.read_value())), looked_up]


def _optimizing(kind: str, slots: int, **attrs: Any) -> Scenario:
    def scenario(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
        shape = tuple(draw.integers(0, 4, draw.integers(0, 3)))
        dtype = draw.choice([np.float32, np.float64])

        def numbers() -> Any:
            return np.abs(draw.normal(size=shape)).astype(dtype)

        variables = [_variable(tf, f"v{index}", numbers(), is_resource) for index in range(slots)]
        refs = [v.handle if is_resource else v._ref() for v in variables]
        rate, beta = dtype(0.1), dtype(0.9)
        steps: list[Any] = [v.initializer for v in variables]
        prefix = "Resource" if is_resource else ""
        make = getattr(tf.raw_ops, f"{prefix}{kind}")
        for count in (1, 2):
            grad = numbers() - dtype(0.5)
            if kind == "ApplyGradientDescent":
                update = make(var=refs[0], alpha=rate, delta=grad)
            elif kind == "ApplyMomentum":
                update = make(
                    var=refs[0], accum=refs[1], lr=rate, grad=grad, momentum=beta, **attrs
                )
            else:
                update = make(
                    var=refs[0], m=refs[1], v=refs[2], beta1_power=beta**count,
                    beta2_power=dtype(0.99) ** count, lr=rate, beta1=beta, beta2=dtype(0.99),
                    epsilon=dtype(1e-7), grad=grad, **attrs,
                )  # fmt: skip
            steps += [getattr(update, "op", update), [v.read_value() for v in variables]]
        return steps

    return scenario


def _sparse_momentum(**attrs: Any) -> Scenario:
    def scenario(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
        table = _variable(tf, "v", _numbers(draw, 4, 2), is_resource)
        dtype = table.dtype.as_numpy_dtype
        accum = _variable(tf, "accum", np.abs(draw.normal(size=(4, 2))).astype(dtype), is_resource)
        variables = [table, accum]
        refs = [v.handle if is_resource else v._ref() for v in variables]
        prefix = "Resource" if is_resource else ""
        indices = draw.integers(0, 4, draw.integers(0, 6)).astype(np.int32)
        update = getattr(tf.raw_ops, f"{prefix}SparseApplyMomentum")(
            var=refs[0], accum=refs[1], lr=dtype(0.1), indices=indices, momentum=dtype(0.9),
            grad=draw.normal(size=(len(indices), 2)).astype(dtype), **attrs,
        )  # fmt: skip
        reads = [v.read_value() for v in variables]
        return [*(v.initializer for v in variables), getattr(update, "op", update), reads]

    return scenario


def handles(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    """Test reads before and after changes, shapes, handles of the same name, and destruction."""
    raw = tf.raw_ops
    value = _numbers(draw, 3, 2)
    names = {"dtype": value.dtype, "shape": [3, 2], "shared_name": "shared"}
    v, again = raw.VarHandleOp(**names), raw.VarHandleOp(**names)
    fill = raw.AssignVariableOp(resource=v, value=value)
    before = raw.ReadVariableOp(resource=v, dtype=value.dtype)
    with tf.control_dependencies([before]):
        add = raw.AssignAddVariableOp(resource=again, value=value)
    with tf.control_dependencies([add]):
        after = raw.ReadVariableOp(resource=v, dtype=value.dtype)
        view = tf.reshape(before, [-1])
    rows = raw.ResourceGather(resource=v, indices=[[2], [0]], dtype=value.dtype)
    is_set = raw.VarIsInitializedOp(resource=v)
    clear = raw.DestroyResourceOp(resource=v)
    shape = raw.VariableShape(input=v)
    return [is_set, fill, [before, view, after], shape, rows, is_set, clear, is_set]


def branches(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    v1 = tf.compat.v1
    v = _variable(tf, "v", np.float32(draw.normal()), is_resource)
    change = v1.cond(v > 0, lambda: v.assign_add(10.0).op, lambda: v.assign_sub(10.0).op)
    chosen = v1.cond(v > 0, lambda: [v * 2, tf.fill([2], 1.0)], lambda: [v * 3, tf.fill([2], 2.0)])
    return [v.initializer, chosen, change, v.read_value(), chosen]


def strings(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    words = tf.constant([[b"s3://a", b"x"], [b"", b"\xff"]])
    numbers = draw.normal(0, 100, 3)
    integers = draw.integers(-100, 100, 4)
    return [
        tf.raw_ops.StaticRegexFullMatch(input=words, pattern="^s3://.*"),
        tf.strings.join([words, "-", words], separator="+"),
        tf.raw_ops.ShardedFilename(basename="model", shard=1, num_shards=12),
        tf.strings.as_string(numbers),
        tf.strings.as_string(numbers.astype(np.float32), precision=2, width=9, fill="0"),
        tf.strings.as_string(numbers, scientific=True, precision=3),
        tf.strings.as_string(numbers, shortest=True),
        tf.strings.as_string(integers),
        tf.strings.as_string(integers, width=6, fill=" "),
        tf.strings.as_string([True, False]),
    ]


def holding(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    v1 = tf.compat.v1
    shape = (2, 0, 3)[: draw.integers(0, 4)]
    constants = [
        tf.constant(draw.integers(0, 2, shape), dtype)
        for dtype in ("float16", "float32", "int8", "uint16", "int64", "bool")
    ]
    return [
        constants,
        tf.constant([b"a", b""]),
        v1.placeholder_with_default(tf.constant([1.0, 2.0]), [None]),
        tf.no_op(),
        v1.Print(tf.constant([1.0, 2.0]), [tf.constant(3)], "printed by tf.Print: "),
        [constants[1], tf.identity(constants[1])],
    ]


def identities(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
    texts = tf.constant(["a", "b"])
    return list(
        tf.identity_n([texts, tf.constant(_numbers(draw, 2, 3)), tf.constant(draw.random() < 0.5)])
    )


SCENARIOS: dict[str, tuple[Scenario, frozenset[str]]] = {
    "assigning": (assigning, frozenset({
        "VariableV2", "Assign", "AssignAdd", "AssignSub", "IsVariableInitialized", "VarHandleOp",
        "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp",
        "VarIsInitializedOp",
    })),
    "scattering": (scattering, frozenset({
        "ScatterAdd", "ScatterSub", "ScatterUpdate", "ResourceScatterAdd", "ResourceScatterSub",
        "ResourceScatterUpdate", "ResourceGather",
    })),
    "descent": (_optimizing("ApplyGradientDescent", 1), frozenset({
        "ApplyGradientDescent", "ResourceApplyGradientDescent",
    })),
    "momentum": (_optimizing("ApplyMomentum", 2), frozenset({
        "ApplyMomentum", "ResourceApplyMomentum",
    })),
    "nesterov": (_optimizing("ApplyMomentum", 2, use_nesterov=True), frozenset()),
    "adam": (_optimizing("ApplyAdam", 3), frozenset({"ApplyAdam", "ResourceApplyAdam"})),
    "nesterov adam": (_optimizing("ApplyAdam", 3, use_nesterov=True), frozenset()),
    "sparse momentum": (_sparse_momentum(), frozenset({
        "SparseApplyMomentum", "ResourceSparseApplyMomentum",
    })),
    "sparse nesterov": (_sparse_momentum(use_nesterov=True), frozenset()),
    "handles": (handles, frozenset({"VariableShape", "DestroyResourceOp"})),
    "branches": (branches, frozenset({"Switch", "RefSwitch", "Merge"})),
    "strings": (strings, frozenset({
        "StaticRegexFullMatch", "StringJoin", "ShardedFilename", "AsString",
    })),
    "identities": (identities, frozenset({"IdentityN"})),
    "holding": (holding, frozenset({"Const", "PlaceholderWithDefault", "NoOp", "Print"})),
}  # fmt: skip
"""Programs by name, each with the ops that it tests."""

CLIENT = frozenset({
    "Placeholder", "SaveV2", "RestoreV2", "MergeV2Checkpoints", "ScalarSummary",
    "HistogramSummary", "TensorSummaryV2", "MergeSummary",
})  # fmt: skip
"""Ops that the tests of a whole client cover: feeds, Saver, summaries."""

DRAWN = frozenset({"RandomUniform", "RandomStandardNormal", "TruncatedNormal", "RandomUniformInt"})
"""Ops that draw other numbers than TensorFlow, from the same distribution."""
