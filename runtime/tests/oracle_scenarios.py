"""Small programs for TensorFlow's client, for ops that one call cannot test.

Each program takes `tf`, a random generator, and whether its variables are resources. It builds a
graph and returns the fetches to run, in order: a tensor, an operation, or a list of these.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
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
        v1.scatter_mul(v, indices, updates),
        v1.scatter_div(v, indices, np.abs(updates) + 1),
        v1.scatter_min(v, indices, updates),
        v1.scatter_max(v, indices, updates * 2),
    ]
    looked_up = tf.nn.embedding_lookup(v, indices)
    return [v.initializer, *(step for c in changes for step in (c.op, v.read_value())), looked_up]


def _updating(kind: str, **attrs: Any) -> Scenario:
    """Return a program that applies `kind` twice. Its arguments follow from TensorFlow's row."""

    def scenario(tf: Any, draw: np.random.Generator, is_resource: bool) -> Sequence[Any]:
        # Some updates exist for resource variables only.
        is_resource = is_resource or not hasattr(tf.raw_ops, kind)
        make = getattr(tf.raw_ops, f"{'Resource' if is_resource else ''}{kind}")
        arguments = [name for name in inspect.signature(make).parameters if name not in ATTRIBUTES]
        is_sparse = "indices" in arguments
        shape = (4, 2) if is_sparse else tuple(draw.integers(0, 4, draw.integers(0, 3)))
        # TensorFlow lacks kernels of these algorithms for numbers of 16 bits.
        is_wide = "Proximal" in kind or "AdagradDA" in kind
        is_half = kind == "ApplyAdaMax" or (is_sparse and "RMSProp" in kind)
        halves = [] if is_wide else [np.float16, *[ml_dtypes.bfloat16] * (not is_half)]
        dtype = draw.choice([*halves, np.float32, np.float64])

        def numbers(*shape: int) -> Any:
            return np.asarray(draw.uniform(0.1, 1, size=shape)).astype(dtype)

        variables = {
            name: _variable(tf, name, numbers(*shape), is_resource)
            for name in arguments
            if name in TARGETS
        }
        refs = {name: v.handle if is_resource else v._ref() for name, v in variables.items()}
        steps: list[Any] = [v.initializer for v in variables.values()]
        for _ in range(2):
            inputs = {name: refs.get(name, numbers()) for name in arguments}
            count = int(draw.integers(0, 6))
            slope = numbers(count, 2) if is_sparse else numbers(*shape)
            inputs["delta" if "delta" in arguments else "grad"] = slope - dtype(0.5)
            if is_sparse:
                inputs["indices"] = draw.integers(0, 4, count).astype(np.int32)
            if "global_step" in arguments:
                inputs["global_step"] = np.int64(2)
            if "lr_power" in arguments:
                inputs["lr_power"] = dtype(draw.choice([-0.5, -0.25]))
            if "mg" in arguments:
                # The mean of squares stays above the square of the mean.
                inputs["epsilon"] = dtype(2)
            update = make(**inputs, **attrs)
            steps += [getattr(update, "op", update), [v.read_value() for v in variables.values()]]
        return steps

    return scenario


TARGETS = frozenset({
    "var", "m", "v", "vhat", "accum", "accum_update", "linear", "ms", "mg", "mom",
    "gradient_accumulator", "gradient_squared_accumulator",
})  # fmt: skip
ATTRIBUTES = frozenset(
    {"use_locking", "use_nesterov", "update_slots", "multiply_linear_by_lr", "name"}
)
ALGORITHMS = (
    "ProximalGradientDescent", "Momentum", "Adagrad", "AdagradV2", "ProximalAdagrad", "AdagradDA",
    "Adadelta", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2",
)  # fmt: skip
"""The updates that have a dense and a sparse op."""


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
    elements = raw.ResourceGatherNd(resource=v, indices=[[2, 0], [0, 1]], dtype=value.dtype)
    is_set = raw.VarIsInitializedOp(resource=v)
    clear = raw.DestroyResourceOp(resource=v)
    shape = raw.VariableShape(input=v)
    steps = [is_set, fill, raw.DisableCopyOnRead(resource=v), [before, view, after], shape, rows]
    return [*steps, elements, is_set, clear, is_set]


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
        *(
            f"{kind}Scatter{change}"
            for kind in ("", "Resource")
            for change in ("Add", "Sub", "Update", "Mul", "Div", "Min", "Max")
        ),
        "ResourceGather",
    })),
    **{
        kind: (_updating(kind), frozenset({kind, f"Resource{kind}"}))
        for kind in (
            "ApplyGradientDescent", "ApplyAdam", "ApplyAdaMax", "ApplyAddSign", "ApplyPowerSign",
            *(prefix + name for prefix in ("Apply", "SparseApply") for name in ALGORITHMS),
        )
    },
    **{
        kind: (_updating(kind), frozenset({f"Resource{kind}"}))
        for kind in ("ApplyKerasMomentum", "SparseApplyKerasMomentum", "ApplyAdamWithAmsgrad")
    },
    "nesterov of keras": (_updating("ApplyKerasMomentum", use_nesterov=True), frozenset()),
    "nesterov": (_updating("ApplyMomentum", use_nesterov=True), frozenset()),
    "nesterov adam": (_updating("ApplyAdam", use_nesterov=True), frozenset()),
    "sparse nesterov": (_updating("SparseApplyMomentum", use_nesterov=True), frozenset()),
    "scaled ftrl": (_updating("ApplyFtrlV2", multiply_linear_by_lr=True), frozenset()),
    "fixed slots": (_updating("ApplyAdagrad", update_slots=False), frozenset()),
    "handles": (handles, frozenset({
        "DestroyResourceOp", "DisableCopyOnRead", "ResourceGatherNd", "VariableShape",
    })),
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
