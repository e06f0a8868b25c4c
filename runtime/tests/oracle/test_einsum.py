"""`tf.einsum` has the values, gradients and static shapes of TensorFlow."""

from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("...ij,...jk->...ik", [(3, 2, 2), (2, 4)]),
    ("...ij,...jk->...ik", [(3, 1, 2, 2), (5, 2, 4)]),
    ("...ij,...jk->ik", [(2, 2), (2, 4)]),
    ("...ij,...jk,...kl->...il", [(3, 2, 2), (2, 4), (1, 4, 5)]),
    ("i...,...j->...ij", [(2, 3), (3, 4)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("ijji", [(2, 3, 3, 2)]),
    ("ij->ji", [(3, 2)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ab,ab,c->c", [(2, 3), (2, 3), (2,)]),
]


def outcome(tf: Any, equation: str, sizes: list[tuple[int, ...]], known: bool) -> list[Any]:
    random = np.random.RandomState(3)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.float64, shape if known else None) for shape in sizes]
        y = tf.einsum(equation, *inputs)
        fetches = [y, *tf.gradients(y, inputs)]
        values = [random.rand(*shape) for shape in sizes]
        found = session.run(fetches, dict(zip(inputs, values, strict=True)))
        return [y.shape.ndims, *found]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("equation, sizes", EQUATIONS)
def test_equations_have_the_values_and_gradients_of_tensorflow(
    v1: Any, equation: str, sizes: list[tuple[int, ...]], known: bool
) -> None:
    (rank, *ours), (wanted_rank, *wanted) = (
        outcome(tf, equation, sizes, known) for tf in (capstan, v1)
    )
    assert rank == wanted_rank or not known
    for value, other in zip(ours, wanted, strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-12)


@pytest.mark.parametrize("equation", ["...ij,...jk", "...ij,...jk->", "...ij,...jk->k"])
def test_an_output_without_the_ellipsis_sums_over_its_axes_as_in_numpy(equation: str) -> None:
    """TensorFlow 1.15 does this too; TensorFlow 2 refuses these equations."""
    sizes: list[tuple[int, ...]] = [(3, 2, 2), (3, 2, 4)]
    random = np.random.RandomState(3)
    x, y = (random.rand(*shape) for shape in sizes)
    letters = equation.replace("...", "b")
    wanted = np.einsum(letters if "->" in equation else f"{letters}->bik", x, y)
    found = outcome(capstan, equation, sizes, True)[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "equation, sizes",
    [
        ("ij...,jk->ik.", [(2, 3), (3, 4)]),
        ("...i...->i", [(2, 3)]),
        ("i->ii", [(2,)]),
        ("", [(2,)]),
        ("i->j", [(2,)]),
        ("i,j->i", [(2,)]),
        ("...ij->i", [(2,)]),
    ],
)
def test_malformed_equations_are_refused(
    v1: Any, equation: str, sizes: list[tuple[int, ...]]
) -> None:
    for tf in (v1, capstan):
        with pytest.raises(ValueError, match=r"\w"):
            outcome(tf, equation, sizes, True)
