"""Ops with state, branches, strings and random numbers behave as in TensorFlow."""

from typing import Any

import comparison
import genuine
import numpy as np
import op_cases
import oracle_scenarios
import pytest

from capstan.framework import opdef, ops  # noqa: F401 - fills the registry

pytestmark = genuine.MARKS


def run_scenario(
    tf: Any, target: str, device: str, name: str, seed: int, is_resource: bool
) -> list[Any]:
    scenario, _ = oracle_scenarios.SCENARIOS[name]
    v1 = tf.compat.v1
    with v1.Graph().as_default(), v1.device(device), v1.Session(target) as session:
        steps = scenario(tf, np.random.default_rng(seed), is_resource)
        return [session.run(step) for step in steps]


@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("name", oracle_scenarios.SCENARIOS)
def test_a_program_gives_the_same_results_as_in_tensorflow(
    tf: Any, tasks: genuine.Tasks, name: str, is_resource: bool
) -> None:
    for seed in range(4):
        tf.compat.v1.Session.reset(tasks.target())
        expected = run_scenario(tf, "", "", name, seed, is_resource)
        found = run_scenario(tf, tasks.target(), "/job:ps/task:0", name, seed, is_resource)
        for result, wanted in zip(found, expected, strict=True):
            pairs = (
                zip(result, wanted, strict=True) if isinstance(result, list) else [(result, wanted)]
            )
            for value, expected_value in pairs:
                check_equal(value, expected_value)


def check_equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    expected = np.asarray(expected)
    tolerance = {2: 1e-2, 4: 1e-5, 8: 1e-10}.get(expected.itemsize, 0.0)
    # TensorFlow rounds each step of an update of bfloat16, and Capstan only the result.
    least = tolerance if expected.dtype.name == "bfloat16" else tolerance / 10
    comparison.close(found, expected, tolerance, least)


def test_random_numbers_have_the_distributions_of_tensorflow(
    v1: Any, tf: Any, tasks: genuine.Tasks
) -> None:
    draws = [
        tf.random.uniform([20_000], -1, 3, seed=1),
        tf.random.normal([20_000], 2, 3, seed=2),
        tf.random.truncated_normal([20_000], 2, 3, seed=3),
        tf.random.uniform([20_000], -5, 7, tf.int32, seed=4),
    ]
    results = []
    for target in ("", tasks.target()):
        with v1.Session(target) as session:
            results.append(session.run(draws))
    quantiles = np.linspace(0.01, 0.99, 33)
    for expected, found in zip(*results, strict=True):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        spread = np.ptp(expected)
        difference = np.quantile(expected, quantiles) - np.quantile(found, quantiles)
        assert np.abs(difference).max() < 0.03 * spread + (found.dtype.kind == "i")
        assert abs(int(np.ptp(found)) - int(spread)) <= 0.1 * spread + 1


def test_every_op_is_compared_with_tensorflow() -> None:
    compared = set(op_cases.CASES) | oracle_scenarios.CLIENT | oracle_scenarios.DRAWN
    for file, names in op_cases.ELSEWHERE.items():
        if file.startswith("oracle/"):
            compared |= names
    for _, ops_of_scenario in oracle_scenarios.SCENARIOS.values():
        compared |= ops_of_scenario
    # Both versions of a reader have one kernel.
    compared |= {name.removesuffix("V2") for name in op_cases.ELSEWHERE["oracle/test_readers.py"]}
    compared |= {"AudioSummary", "TensorSummary"}  # older forms of ops that are compared
    # TensorFlow does not have these ops.
    compared |= {"SerializeQueue", "DeserializeQueue", "GatherTree"}
    compared |= {"BipartiteMatch", "ImageConnectedComponents"}
    compared |= {"MaskedMatmul", "WALSComputePartialLhsAndRhs"}
    compared |= {f"{kind}AccumulatorTakeGradientUpTo" for kind in ("Resource", "Sparse")}
    # Only the compiler makes the ops whose names begin with an underscore.
    assert compared == {row.name for row in opdef.all_rows() if row.name[0] != "_"}
