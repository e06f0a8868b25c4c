"""`tf.distributions` refuses the arguments and values that TensorFlow refuses."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

ERRORS = (NotImplementedError, ValueError, TypeError)
STRICT = {"validate_args": True, "allow_nan_stats": False}
REFUSED: list[Any] = [
    lambda d: d.Bernoulli(probs=1.2, **STRICT).probs,
    lambda d: d.Bernoulli(probs=-0.2, **STRICT).probs,
    lambda d: d.Bernoulli(logits=0.0, probs=0.5),
    lambda d: d.Bernoulli(),
    lambda d: d.Bernoulli(probs=1),
    lambda d: d.Bernoulli(probs=0.3, **STRICT).log_prob(2),
    lambda d: d.Bernoulli(probs=0.3, **STRICT).log_prob(0.5),
    lambda d: d.Bernoulli(probs=0.3, **STRICT).log_prob(1.0),
    lambda d: d.Beta(-1.0, 2.0, **STRICT).mean(),
    lambda d: d.Beta(1.0, 2.0, **STRICT).mode(),
    lambda d: d.Beta(2.0, 1.0, **STRICT).mode(),
    lambda d: d.Beta(2.0, 1.5, **STRICT).mode(),
    lambda d: d.Beta(2.0, 1.5, **STRICT).log_prob(1.5),
    lambda d: d.Beta(2.0, 1.5, **STRICT).log_prob(0.0),
    lambda d: d.Beta(2.0, np.float64(1.5)).mean(),
    lambda d: d.Beta(2, 1),
    lambda d: d.Categorical(probs=[0.2, 0.2], **STRICT).probs,
    lambda d: d.Categorical(probs=[1.2, -0.2], **STRICT).probs,
    lambda d: d.Categorical(probs=[1.0], **STRICT),
    lambda d: d.Categorical(logits=[1.0], **STRICT),
    lambda d: d.Categorical(logits=1.0),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).log_prob(0.5),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).log_prob(-1),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).log_prob(1.0),
    lambda d: d.Categorical(logits=[1.0, 2.0], **STRICT).cdf(1),
    lambda d: d.Categorical(logits=[1.0, 2.0]).log_prob("one"),
    lambda d: d.Dirichlet([1.0, -2.0], **STRICT).mean(),
    lambda d: d.Dirichlet([1.0], **STRICT).mean(),
    lambda d: d.Dirichlet([1.0, 2.0], **STRICT).mode(),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).mode(),
    lambda d: d.Dirichlet([1.0, 2.0]).mode(),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).log_prob([0.5, 0.6]),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).log_prob([0.0, 1.0]),
    lambda d: d.Dirichlet([1.5, 2.0], **STRICT).log_prob([0.4, 0.6]),
    lambda d: d.DirichletMultinomial(-1.0, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.DirichletMultinomial(2.5, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.DirichletMultinomial(2.0, [1.0, -2.0], **STRICT).mean(),
    lambda d: d.DirichletMultinomial(2.0, [1.0], **STRICT),
    lambda d: d.DirichletMultinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 2.0]),
    lambda d: d.DirichletMultinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 1.0]),
    lambda d: d.DirichletMultinomial(2.0, [1.0, 2.0], **STRICT).log_prob([0.5, 1.5]),
    lambda d: d.Exponential(-1.0, **STRICT).mean(),
    lambda d: d.Exponential(2.0, **STRICT).mode(),
    lambda d: d.Exponential(2.0).mode(),
    lambda d: d.Exponential(2.0, **STRICT).log_prob(-1.0),
    lambda d: d.Exponential(1),
    lambda d: d.Gamma(-1.0, 2.0, **STRICT).mean(),
    lambda d: d.Gamma(1.0, -2.0, **STRICT).mean(),
    lambda d: d.Gamma(1.0, 2.0, **STRICT).mode(),
    lambda d: d.Gamma(1.5, 2.0, **STRICT).mode(),
    lambda d: d.Gamma(1.5, 2.0, **STRICT).log_prob(0.0),
    lambda d: d.Gamma(1.5, 2.0, **STRICT).cdf(-1.0),
    lambda d: d.Gamma(1.5, 2.0).log_prob(np.float64(1)),
    lambda d: d.Laplace(0.0, -1.0, **STRICT).mean(),
    lambda d: d.Multinomial(-1.0, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.Multinomial(1.5, [1.0, 2.0], **STRICT).mean(),
    lambda d: d.Multinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 2.0]),
    lambda d: d.Multinomial(2.0, [1.0, 2.0], **STRICT).log_prob([1.0, 1.0]),
    lambda d: d.Multinomial(2.0, probs=[0.2, 0.3], **STRICT).mean(),
    lambda d: d.Normal(0.0, -1.0, **STRICT).mean(),
    lambda d: d.Normal(0.0, 0.0, **STRICT).mean(),
    lambda d: d.Normal(0.0, -1.0).log_prob(0.0),
    lambda d: d.Normal(0.0, np.float64(1.0)),
    lambda d: d.Normal(0, 1),
    lambda d: d.Normal([0.0, 1.0], [1.0, 1.0, 1.0]).batch_shape_tensor(),
    lambda d: d.Normal(0.0, 1.0).sample([[2, 3]]),
    lambda d: d.Normal(0.0, 1.0).kl_divergence(d.Normal(0.0, 0.0)),
    lambda d: d.Normal(0.0, 0.0, allow_nan_stats=False).kl_divergence(d.Normal(0.0, 0.0)),
    lambda d: d.Normal(0.0, 1.0).kl_divergence(d.Laplace(0.0, 1.0)),
    lambda d: d.Exponential(1.5).kl_divergence(d.Gamma(2.0, 0.5)),
    lambda d: d.StudentT(-1.0, 0.0, 1.0, **STRICT).mode(),
    lambda d: d.StudentT(1.0, 0.0, 1.0, **STRICT).mean(),
    lambda d: d.StudentT(1.0, 0.0, 1.0, **STRICT).variance(),
    lambda d: d.StudentT(1.5, 0.0, 1.0, **STRICT).mean(),
    lambda d: d.StudentT(1.5, 0.0, 1.0, **STRICT).variance(),
    lambda d: d.Uniform(1.0, 1.0, **STRICT).mean(),
    lambda d: d.Uniform(1.0, 0.0).mean(),
    lambda d: d.Uniform(1.0, 2.0, **STRICT).log_prob(np.float32(np.nan)),
    lambda d: d.Distribution("float32", d.NOT_REPARAMETERIZED, False, True).mean(),
    lambda d: d.Distribution("float32", d.NOT_REPARAMETERIZED, False, True, graph_parents=[1]),
    lambda d: d.Normal.param_static_shapes(None),
]


def outcome(tf: Any, case: Any) -> Any:
    """Return the value of a tensor, or the type of the error while it is made or computed."""
    with tf.Graph().as_default(), tf.Session() as session:
        try:
            return session.run(case(tf.distributions))
        except (*ERRORS, tf.errors.InvalidArgumentError) as error:
            return type(error).__name__


@pytest.mark.parametrize("part", range(8))
def test_the_same_arguments_are_refused(v1: Any, part: int) -> None:
    for number, case in enumerate(REFUSED[part::8]):
        ours, theirs = outcome(capstan, case), outcome(v1, case)
        place = f"case {part + 8 * number}"
        if isinstance(theirs, str):
            assert (place, ours) == (place, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, strict=True, err_msg=place)
