"""What tests ask of graphs, layouts and devices (python/framework/test_util.py)."""

# ruff: noqa: PT009 - the test that asks is a case of unittest

import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from capstan.api import test
from capstan.framework import graph as graphs
from capstan.framework.tensor import Tensor


def assert_ops_in_graph(expected_ops: Mapping[str, str], graph: graphs.Graph) -> dict[str, Any]:
    """Return the nodes that `expected_ops` names, by their name.

    Args:
        expected_ops: the name of each node, and its op.

    Raises:
        ValueError: a node is not in the graph, or has another op.
    """
    found = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, node in found.items():
        if node.op != expected_ops[name]:
            raise ValueError(
                f"Expected op for node {name} is different. {node.op} vs {expected_ops[name]}"
            )
    if found.keys() != expected_ops.keys():
        raise ValueError(
            f"Not all expected ops are present. Expected {list(expected_ops)}, found {list(found)}"
        )
    return found


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """Return the node of this name of a GraphDef, or None. Bodies of functions are not searched."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Check that two MetaGraphDefs are equal, by assertions of the test `tester`.

    The order of the nodes does not count.
    """
    tester.assertEqual(set(a.collection_def), set(b.collection_def))
    for key, collection in a.collection_def.items():
        tester.assertEqual(collection, b.collection_def[key])
    test.assert_equal_graph_def(a.graph_def, b.graph_def, checkpoint_v2=True)
    tester.assertProtoEquals(a.graph_def.versions, b.graph_def.versions)
    rest = [type(a).FromString(message.SerializeToString()) for message in (a, b)]
    for message in rest:
        message.ClearField("collection_def")
        message.ClearField("graph_def")
    tester.assertProtoEquals(*rest)


def device(use_gpu: bool) -> AbstractContextManager[Any]:
    """Place the operations of a block on a GPU of this process, or on the CPU if it has none.

    Without `use_gpu`, always on the CPU.
    """
    on_gpu = use_gpu and test.is_gpu_available()
    return graphs.get_default_graph().device("/device:GPU:0" if on_gpu else "/device:CPU:0")


def use_gpu() -> AbstractContextManager[Any]:
    """Place the operations of a block on a GPU of this process, or on the CPU if it has none."""
    return device(use_gpu=True)


def force_gpu() -> AbstractContextManager[Any]:
    """Place the operations of a block on the first GPU."""
    return graphs.get_default_graph().device("/device:GPU:0")


def force_cpu() -> AbstractContextManager[Any]:
    """Place the operations of a block on the CPU."""
    return graphs.get_default_graph().device("/device:CPU:0")


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Return a tensor, or a shape as a list, with its channels before the 2 or 3 spatial axes."""
    return _transposed(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """Return a tensor, or a shape as a list, with its channels after the 2 or 3 spatial axes."""
    return _transposed(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def _transposed(tensor_or_shape: Any, orders: Mapping[int, Sequence[int]]) -> Any:
    if isinstance(tensor_or_shape, Tensor):
        from capstan.api import array_ops

        rank = len(tensor_or_shape.shape)
        return array_ops.transpose(tensor_or_shape, orders[rank])
    return [tensor_or_shape[axis] for axis in orders[len(tensor_or_shape)]]


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[dict[str, Any]]:
    """Return the arguments of named parameterized tests: one for each combination of the values.

    An argument is a list of values, or one value. The key `testcase_name` names the combination.
    """
    names = sorted(kwargs)
    values = [kwargs[name] if isinstance(kwargs[name], list) else [kwargs[name]] for name in names]
    combinations = []
    for chosen in itertools.product(*values):
        combination = dict(zip(names, chosen, strict=True))
        words = (
            "_" + _letters(name) + "_" + _letters(value) for name, value in combination.items()
        )
        combinations.append(combination | {"testcase_name": "_test" + "".join(words)})
    return combinations


def _letters(value: Any) -> str:
    return "".join(filter(str.isalnum, str(value)))
