"""The distributions of numbers have TensorFlow's values for all parameters."""

from typing import Any

import genuine
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import capstan

pytestmark = genuine.MARKS

METHODS = ("log_prob", "prob", "log_cdf", "cdf", "survival_function")


def fed(tf: Any, name: str, parameters: Any) -> Any:
    """Return a function of parameters and values, whose graph is made once."""
    with tf.Graph().as_default() as graph:
        inputs = [tf.placeholder(tf.float64, [None]) for _ in (*parameters, "value")]
        made = getattr(tf.distributions, name)(**dict(zip(parameters, inputs, strict=False)))
        # log(1 - cdf) is not precise where cdf is near 1.
        own = ["log_survival_function"] if name in TAILS else []
        results = [getattr(made, method)(inputs[-1]) for method in (*METHODS, *own)]
        results += [made.entropy(), made.mean()]
    session = tf.Session(graph=graph)
    return lambda *arrays: session.run(results, dict(zip(inputs, arrays, strict=True)))


POSITIVE = st.floats(0.01, 50)
REAL = st.floats(-40, 40, allow_subnormal=False)
RANGES = {
    "Beta": ({"concentration1": POSITIVE, "concentration0": POSITIVE}, st.floats(0.001, 0.999)),
    "Gamma": ({"concentration": POSITIVE, "rate": POSITIVE}, POSITIVE),
    "Exponential": ({"rate": POSITIVE}, POSITIVE),
    "Laplace": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "Normal": ({"loc": REAL, "scale": POSITIVE}, REAL),
    "StudentT": ({"df": POSITIVE, "loc": REAL, "scale": POSITIVE}, REAL),
    "Uniform": ({"low": st.floats(-40, -0.01), "high": POSITIVE}, REAL),
}

TAILS = ("Exponential", "Laplace", "Normal")
"""The distributions with a formula of their own for the logarithm of the survival function."""


@pytest.mark.parametrize("name", sorted(RANGES))
def test_all_parameters_give_the_values_of_tensorflow(v1: Any, name: str) -> None:
    parameters, values = RANGES[name]
    both = [fed(tf, name, parameters) for tf in (capstan, v1)]

    @given(
        st.tuples(
            *(
                arrays.arrays(np.float64, 8, elements=each)
                for each in (*parameters.values(), values)
            )
        )
    )
    def check(drawn: Any) -> None:
        ours, theirs = (run(*drawn) for run in both)
        for mine, wanted in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-6, atol=1e-9)

    check()


@given(arrays.arrays(np.float64, 30, elements=st.floats(1e-300, 1 - 1e-12)))
def test_quantiles_of_the_normal_distribution(p: Any) -> None:
    from scipy import stats

    with capstan.Graph().as_default(), capstan.Session() as session:
        normal = capstan.distributions.Normal(np.float64(0), np.float64(1))
        p = np.append(p, [1e-13, 1e-50, 1e-300])
        found = session.run(normal.quantile(p))
    np.testing.assert_allclose(found, stats.norm.ppf(p), rtol=1e-12, atol=1e-13)
