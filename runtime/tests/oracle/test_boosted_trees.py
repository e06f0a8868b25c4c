"""The ops of boosted trees have TensorFlow's arguments and static shapes.

TensorFlow 2 lost their kernels. `kernels/test_boosted_trees.py` holds ours to the formulas.
"""

from collections.abc import Callable
from typing import Any

import genuine
import pytest

import capstan
from capstan.framework import opdef

pytestmark = genuine.MARKS

OPS = [row.name for row in opdef.all_rows() if "BoostedTrees" in row.name]


@pytest.mark.parametrize("name", OPS)
def test_an_op_has_the_arguments_of_tensorflow(tf: Any, name: str) -> None:
    from tensorflow.python.framework import op_def_registry

    expected, row = op_def_registry.get(name), opdef.lookup(name)
    for arguments, found in (
        (expected.input_arg, row.input_arguments),
        (expected.output_arg, row.output_arguments),
    ):
        assert [
            (each.name, tf.as_dtype(each.type).name, each.number_attr or None) for each in arguments
        ] == [(each.name, each.type, each.number) for each in found]
    counts = {each.number_attr for each in expected.input_arg}
    names = {each.name for each in expected.attr}
    assert names - counts <= set(row.attrs) <= names
    for attr in expected.attr:
        if attr.HasField("default_value") and attr.type in ("int", "bool"):
            kind = {"int": "i", "bool": "b"}[attr.type]
            assert row.defaults[attr.name] == getattr(attr.default_value, kind)
        if attr.has_minimum:
            assert row.minima.get(attr.name, 1) == attr.minimum


def _calls(v1: Any) -> dict[str, Callable[[], Any]]:
    ops, known, floats = v1.raw_ops, {"dtype": v1.int32}, {"dtype": v1.float32}

    def hole(shape: Any, dtype: Any) -> Any:
        return v1.placeholder(dtype, shape)

    trees = ops.BoostedTreesEnsembleResourceHandleOp()
    streams = ops.BoostedTreesQuantileStreamResourceHandleOp()
    ids, other, none = hole([3], **known), hole([4], **known), hole(None, **known)
    column, summary = hole([3, 1], **floats), hole([7, None, 2], **floats)
    numbers, unknown = hole([3], **floats), hole(None, **floats)
    read = {"tree_ensemble_handle": trees, "logits_dimension": 1}
    gains = {
        "l1": 0.0, "l2": 0.0, "tree_complexity": 0.0, "min_node_weight": 0.0, "max_splits": 7,
    }  # fmt: skip
    stats = {"gradients": column, "hessians": column, "max_splits": 7, "num_buckets": 5}
    return {
        "handles": lambda: [trees, streams],
        "states": lambda: ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=trees),
        "predict": lambda: ops.BoostedTreesPredict(**read, bucketized_features=[none, ids]),
        "predict others": lambda: ops.BoostedTreesPredict(**read, bucketized_features=[ids, other]),
        "explain": lambda: ops.BoostedTreesExampleDebugOutputs(**read, bucketized_features=[none]),
        "train": lambda: ops.BoostedTreesTrainingPredict(
            **read, cached_tree_ids=none, cached_node_ids=none, bucketized_features=[ids]
        ),
        "stats": lambda: ops.BoostedTreesMakeStatsSummary(
            node_ids=none, bucketized_features_list=[ids, none], **stats
        ),
        "stats of others": lambda: ops.BoostedTreesMakeStatsSummary(
            node_ids=other, bucketized_features_list=[ids], **stats
        ),
        "gains": lambda: ops.BoostedTreesCalculateBestGainsPerFeature(
            node_id_range=none, stats_summary_list=[summary, unknown], **gains
        ),
        "gains of a vector": lambda: ops.BoostedTreesCalculateBestGainsPerFeature(
            node_id_range=none, stats_summary_list=[numbers], **gains
        ),
        "bias": lambda: ops.BoostedTreesCenterBias(
            tree_ensemble_handle=trees, mean_gradients=column, mean_hessians=unknown, l1=0.0, l2=0.0
        ),
        "summaries": lambda: ops.BoostedTreesMakeQuantileSummaries(
            float_values=[numbers, unknown], example_weights=[1.0], epsilon=0.1
        ),
        "boundaries": lambda: ops.BoostedTreesQuantileStreamResourceGetBucketBoundaries(
            quantile_stream_resource_handle=streams, num_features=2
        ),
        "buckets": lambda: ops.BoostedTreesBucketize(
            float_values=[numbers, unknown], bucket_boundaries=[unknown, unknown]
        ),
        "buckets of a matrix": lambda: ops.BoostedTreesBucketize(
            float_values=[column], bucket_boundaries=[unknown]
        ),
    }  # fmt: skip


def _shapes(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_shapes(each) for each in value]
    shape = value.shape
    return shape.as_list() if shape.ndims is not None else None


def test_outputs_have_the_shapes_of_tensorflow(v1: Any) -> None:
    found: list[dict[str, Any]] = []
    for module in (capstan, v1):
        shapes: dict[str, Any] = {}
        with module.Graph().as_default():
            for name, call in _calls(module).items():
                try:
                    shapes[name] = _shapes(call())
                except ValueError:
                    shapes[name] = ValueError
        found.append(shapes)
    assert found[0] == found[1]
    assert list(found[0].values()).count(ValueError) == 4
