"""Random programs of nested conditionals, loops and arrays give TensorFlow's values."""

from typing import Any

import examples
import genuine
import hypothesis
import numpy as np
import pytest
import random_control_flow
from hypothesis import strategies as st

import capstan

pytestmark = genuine.MARKS


@pytest.fixture(scope="module", autouse=True)
def _switch_and_merge(v1: Any) -> None:
    v1.disable_control_flow_v2()


@pytest.mark.timeout(1800)
# A smaller seed is not a smaller program, so there is nothing to shrink. The seeds are always the
# same: a program may decide by a value that lies between the roundings of two correct runtimes.
@hypothesis.settings(
    max_examples=examples.share(20),
    derandomize=True,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
@hypothesis.given(seed=st.integers(0, 2**32 - 1))
def test_a_random_program_gives_the_values_of_tensorflow(v1: Any, tf: Any, seed: int) -> None:
    program = random_control_flow.program(seed)
    with v1.Graph().as_default():
        fetches = program(v1)
        with v1.Session() as session:
            try:
                expected = session.run(fetches)
            except tf.errors.InvalidArgumentError:
                # TensorFlow loses the value of some programs that it builds.
                hypothesis.reject()
    with capstan.Graph().as_default() as graph:
        fetches = list(program(capstan))
        with capstan.Session() as session:
            found = session.run(fetches)
    built = v1.GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with v1.Graph().as_default():
        v1.import_graph_def(built, name="")
        with v1.Session() as session:
            imported = session.run([tensor.name for tensor in fetches])
    for value, again, wanted in zip(found, imported, expected, strict=True):
        np.testing.assert_allclose(again, wanted, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-5)


@hypothesis.settings(
    max_examples=examples.share(40),
    derandomize=True,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
@hypothesis.given(seed=st.integers(0, 2**32 - 1))
def test_a_random_graph_of_tensorflow_with_gated_gradients_gives_its_values(
    v1: Any, tf: Any, seed: int
) -> None:
    with v1.Graph().as_default() as graph:
        fetches = random_control_flow.program(seed, gate_gradients=True)(v1)
        with v1.Session() as session:
            try:
                expected = session.run(fetches)
            except tf.errors.InvalidArgumentError:
                hypothesis.reject()
    with capstan.Graph().as_default():
        capstan.import_graph_def(graph.as_graph_def(), name="")
        with capstan.Session() as session:
            found = session.run([tensor.name for tensor in fetches])
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-3, atol=1e-5)
