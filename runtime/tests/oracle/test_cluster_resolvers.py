"""Resolvers that the program makes give the clusters and targets of TensorFlow's."""

from typing import Any

import genuine
import pytest

import capstan

pytestmark = genuine.MARKS

LISTS = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
MORE = {"worker": ["d:1", "e:1"], "chief": ["f:1"]}
NUMBERED = {"worker": {3: "g:1"}}
SAME = {"worker": {0: "h:1"}}


def simple(v1: Any, cluster: Any, *arguments: Any, **options: Any) -> Any:
    resolvers = v1.distribute.cluster_resolver
    return resolvers.SimpleClusterResolver(v1.train.ClusterSpec(cluster), *arguments, **options)


def union(v1: Any, *clusters: Any, **options: Any) -> Any:
    parts = [simple(v1, each, "first:9", "worker", 0, "here") for each in clusters]
    return v1.distribute.cluster_resolver.UnionResolver(*parts, **options)


def facts(resolver: Any) -> Any:
    return (
        resolver.cluster_spec().as_dict(),
        (resolver.task_type, resolver.task_id, resolver.rpc_layer, resolver.environment),
        (resolver.master(), resolver.master(rpc_layer="x"), resolver.master("worker", 0, "grpc")),
    )


def outcome(case: Any, tf: Any) -> Any:
    """Return the result of a case, or the type of its error."""
    try:
        return case(tf)
    except (KeyError, ValueError) as error:
        return type(error)


CASES = [
    lambda v1: facts(simple(v1, LISTS)),
    lambda v1: facts(simple(v1, LISTS, "m:1", "ps", 1, rpc_layer="grpc")),
    lambda v1: simple(v1, LISTS).master("worker", 7),
    lambda v1: simple(v1, LISTS).num_accelerators(),
    lambda v1: simple(v1, LISTS, num_accelerators={"GPU": 2}).num_accelerators("ps", 0),
    lambda v1: facts(union(v1, LISTS)),
    lambda v1: facts(union(v1, LISTS, MORE, task_type="ps", task_id=1, rpc_layer="grpc")),
    lambda v1: facts(union(v1, LISTS, NUMBERED)),
    lambda v1: facts(union(v1, NUMBERED, LISTS)),
    lambda v1: union(v1, LISTS, SAME).cluster_spec(),
]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_a_resolver_is_tensorflows(v1: Any, case: Any) -> None:
    assert outcome(case, capstan) == outcome(case, v1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda of: of.SimpleClusterResolver(LISTS),
        lambda of: of.SimpleClusterResolver(capstan.train.ClusterSpec(LISTS), master=3),
        lambda of: of.UnionResolver(),
        lambda of: of.UnionResolver(LISTS),
        lambda of: of.UnionResolver(other=1),
    ],
)
def test_wrong_arguments_are_refused_as_in_tensorflow(v1: Any, wrong: Any) -> None:
    kinds = []
    for tf in (capstan, v1):
        with pytest.raises((TypeError, ValueError)) as error:
            wrong(tf.distribute.cluster_resolver)
        kinds.append(type(error.value))
    assert kinds[0] is kinds[1]


def test_resolvers_have_their_names_of_contrib() -> None:
    of = capstan.contrib.cluster_resolver
    assert of.UnionClusterResolver is capstan.distribute.cluster_resolver.UnionResolver
    assert of.SimpleClusterResolver is capstan.distribute.cluster_resolver.SimpleClusterResolver
    assert issubclass(of.TFConfigClusterResolver, of.ClusterResolver)
