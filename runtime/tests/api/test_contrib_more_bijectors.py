"""Bijectors of `tf.contrib.distributions` on parts of the line, and on vectors and matrices."""

from typing import Any

import numpy as np
import pytest

import capstan as tf

BIJECTORS = tf.contrib.distributions.bijectors
VECTORS = np.array([[0.3, 0.6], [0.2, 0.9]])
LOWER = np.array([[[2.0, 0.0], [-1.0, 0.5]], [[1.0, 0.0], [3.0, 4.0]]])
FACTOR = np.array([[1.0], [-0.5]])

MADE: dict[str, Any] = {
    "Gumbel": lambda: BIJECTORS.Gumbel(np.float64(0.1), np.float64(0.7), validate_args=True),
    "Kumaraswamy": lambda: BIJECTORS.Kumaraswamy(np.float64(2), np.float64(3), validate_args=True),
    "Weibull": lambda: BIJECTORS.Weibull(np.float64(2), np.float64(3), validate_args=True),
    "SinhArcsinh": lambda: BIJECTORS.SinhArcsinh(np.float64(0.4), np.float64(1.5)),
    "PowerTransform": lambda: BIJECTORS.PowerTransform(np.float64(0.5), validate_args=True),
    "no power": BIJECTORS.PowerTransform,
    "Softsign": lambda: BIJECTORS.Softsign(validate_args=True),
    "Square": lambda: BIJECTORS.Square(validate_args=True),
    "Ordered": lambda: BIJECTORS.Ordered(validate_args=True),
    "AffineLinearOperator": lambda: BIJECTORS.AffineLinearOperator(
        np.array([1.0, 2.0]),
        tf.linalg.LinearOperatorLowerTriangular(LOWER[0], is_non_singular=True),
        validate_args=True,
    ),
    "perturbed triangle": lambda: BIJECTORS.Affine(
        scale_tril=LOWER[0], scale_perturb_factor=FACTOR, scale_perturb_diag=np.array([0.5])
    ),
    "perturbed identity": lambda: BIJECTORS.Affine(
        scale_identity_multiplier=np.float64(2), scale_perturb_factor=FACTOR
    ),
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_inverses_and_jacobians_agree_with_derivatives(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made = MADE[name]()
        x = tf.constant(VECTORS)
        y = made.forward(x)
        fresh = tf.identity(y)
        columns = tf.stack([tf.gradients(y[:, index], x)[0] for index in range(2)], 1)
        zero = tf.zeros([2], tf.float64)
        back, jacobian, there, inverse = session.run(
            [
                made.inverse(fresh),
                columns,
                made.forward_log_det_jacobian(x, event_ndims=1) + zero,
                made.inverse_log_det_jacobian(fresh, event_ndims=1) + zero,
            ]
        )
    np.testing.assert_allclose(back, VECTORS, rtol=1e-9, atol=1e-12)
    expected = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(there, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(inverse, -expected, rtol=1e-9, atol=1e-9)


def jacobian_of_triangles(y: Any, x: Any) -> Any:
    """Return the derivatives of the lower triangle of `y` [2, 2] by that of `x`."""
    places = [(0, 0), (1, 0), (1, 1)]
    rows = [tf.gradients(y[place], x)[0] for place in places]
    return tf.stack([tf.stack([row[place] for place in places]) for row in rows])


@pytest.mark.parametrize(
    "make",
    [
        lambda: BIJECTORS.CholeskyOuterProduct(validate_args=True),
        lambda: BIJECTORS.TransformDiagonal(BIJECTORS.Exp()),
    ],
    ids=["CholeskyOuterProduct", "TransformDiagonal"],
)
def test_bijectors_of_matrices(make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        made, x = make(), tf.constant(LOWER)
        y = made.forward(x)
        found = session.run(
            {
                "back": made.inverse(tf.identity(y)),
                "change": made.forward_log_det_jacobian(x, event_ndims=2),
                "inverse": made.inverse_log_det_jacobian(tf.identity(y), event_ndims=2),
                "single": made.forward_log_det_jacobian(x[1], event_ndims=2),
            }
        )
        # The derivatives of one matrix, by the three numbers of its triangle.
        alone = tf.constant(LOWER[1])
        jacobian = session.run(jacobian_of_triangles(make().forward(alone), alone))
    np.testing.assert_allclose(found["back"], LOWER, rtol=1e-12, atol=1e-12)
    expected = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(found["change"][1], expected, rtol=1e-12)
    np.testing.assert_allclose(found["single"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["inverse"], -found["change"], rtol=1e-9)


def test_triangles_are_inverted() -> None:
    made = BIJECTORS.MatrixInverseTriL(validate_args=True)
    with tf.Session() as session:
        found, change = session.run(
            [made.forward(LOWER), made.forward_log_det_jacobian(LOWER, event_ndims=2)]
        )
        np.testing.assert_allclose(found, np.linalg.inv(LOWER), atol=1e-12)
        np.testing.assert_allclose(change, -4 * np.log([1.0, 4.0]), atol=1e-12)
        with pytest.raises(tf.errors.InvalidArgumentError, match="lower triangular"):
            session.run(made.forward([[1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="rank at least 2"):
        made.forward([1.0])


def test_vectors_fill_triangles() -> None:
    made = BIJECTORS.FillTriangular()
    vector = np.arange(1.0, 7)
    with tf.Session() as session:
        matrix = made.forward(vector)
        back, expected, positive, sizes = session.run(
            [
                made.inverse(tf.identity(matrix)),
                tf.contrib.distributions.fill_triangular(vector),
                BIJECTORS.ScaleTriL(BIJECTORS.Exp(), diag_shift=None).forward(vector),
                made.forward_event_shape_tensor([5, 6]),
            ]
        )
    assert back.tolist() == vector.tolist()
    diagonal = np.diag(expected)
    np.testing.assert_allclose(positive - expected, np.diag(np.exp(diagonal) - diagonal))
    assert made.forward_event_shape([5, 6]).as_list() == [5, 3, 3] == sizes.tolist()
    assert made.inverse_event_shape([5, 3, 3]).as_list() == [5, 6]
    with pytest.raises(ValueError, match=r"\(7\) does not correspond"):
        made.forward_event_shape([7])
    with pytest.raises(ValueError, match="Matrix must be square"):
        made.inverse_event_shape([3, 4])


def test_events_get_another_shape() -> None:
    made = BIJECTORS.Reshape([2, -1], [4])
    values = np.arange(12).reshape(3, 4)
    with tf.Session() as session:
        image = made.forward(values)
        assert image.shape.as_list() == [3, 2, 2]
        assert session.run(image).tolist() == values.reshape(3, 2, 2).tolist()
        assert session.run(made.inverse(tf.identity(image))).tolist() == values.tolist()
    assert made.forward_event_shape([4]).as_list() == [2, 2]
    with pytest.raises(ValueError, match="does not match `event_shape_in`"):
        made.forward(values[:, :3])
    with pytest.raises(ValueError, match="at most one `-1`"):
        BIJECTORS.Reshape([-1, -1])


def test_the_absolute_value_has_two_origins() -> None:
    made = BIJECTORS.AbsoluteValue(validate_args=True)
    folded = tf.contrib.distributions.TransformedDistribution(
        tf.distributions.Normal(0.5, 1.0), made
    )
    half = tf.contrib.distributions.TransformedDistribution(
        tf.distributions.Normal(0.0, 1.0), BIJECTORS.AbsoluteValue()
    )
    normal = tf.distributions.Normal(0.5, 1.0)
    with tf.Session() as session:
        negative, positive = session.run(made.inverse([1.0, 2.0]))
        assert negative.tolist() == [-1.0, -2.0]
        assert positive.tolist() == [1.0, 2.0]
        found, one, other = session.run([folded.prob(0.7), normal.prob(0.7), normal.prob(-0.7)])
        np.testing.assert_allclose(found, one + other, rtol=1e-6)
        assert (session.run(half.sample(50, seed=1)) >= 0).all()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Argument y was negative"):
            session.run(made.inverse(-1.0))
    for method in (lambda: folded.cdf(0.7), lambda: folded.quantile(0.7), half.entropy):
        with pytest.raises(NotImplementedError, match="not injective"):
            method()
    for compose in (BIJECTORS.Invert, lambda each: BIJECTORS.Chain([BIJECTORS.Exp(), each])):
        with pytest.raises(NotImplementedError, match=r"non-injective .* \(absolute_value\)"):
            compose(made)


class Scaled(BIJECTORS.ConditionalBijector):
    """A bijector of a program, whose factor is a keyword."""

    def __init__(self) -> None:
        super().__init__(forward_min_event_ndims=0, name="scaled")

    def _forward(self, x: Any, factor: float = 1.0) -> Any:
        return x * factor

    def _inverse(self, y: Any, factor: float = 1.0) -> Any:
        return y / factor

    def _forward_log_det_jacobian(self, x: Any, factor: float = 1.0) -> Any:
        return tf.fill(tf.shape(x), np.log(np.float32(factor)))


def test_a_bijector_takes_keywords() -> None:
    made = Scaled()
    with tf.Session() as session:
        found = session.run(
            [
                made.forward([1.0, 2.0], factor=3.0),
                made.inverse([1.0, 2.0], factor=4.0),
                made.forward_log_det_jacobian([1.0, 2.0], 1, factor=3.0),
                made.inverse_log_det_jacobian([1.0, 2.0], 0, factor=3.0),
            ]
        )
    assert found[0].tolist() == [3.0, 6.0]
    assert found[1].tolist() == [0.25, 0.5]
    np.testing.assert_allclose(found[2], 2 * np.log(3), rtol=1e-6)
    np.testing.assert_allclose(found[3], [-np.log(3)] * 2, rtol=1e-6)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="non-negative TF constant"):
        BIJECTORS.PowerTransform(-1.0)
    with pytest.raises(ValueError, match="scale_perturb_factor must be specified"):
        BIJECTORS.Affine(scale_perturb_diag=[1.0])
    with pytest.raises(TypeError, match="not an instance of tf"):
        BIJECTORS.AffineLinearOperator(scale=[[1.0]])
    with pytest.raises(ValueError, match="must be non-singular"):
        BIJECTORS.AffineLinearOperator(
            scale=tf.linalg.LinearOperatorFullMatrix([[1.0]]), validate_args=True
        )
    with tf.Session() as session:
        for made, value in (
            (BIJECTORS.Gumbel(validate_args=True).inverse, -1.0),
            (BIJECTORS.Weibull(validate_args=True).inverse, 2.0),
            (BIJECTORS.Softsign(validate_args=True).inverse, 2.0),
            (BIJECTORS.Square(validate_args=True).forward, -2.0),
            (BIJECTORS.Ordered(validate_args=True).forward, [2.0, 1.0]),
            (BIJECTORS.CholeskyOuterProduct(True).forward, [[1.0, 2.0]]),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"[Ii]nput|elements|square"):
                session.run(made(tf.placeholder_with_default(value, None)))
