"""Einsum on devices with memory of their own, and the equations and shapes that it refuses."""

from typing import Any

import numpy as np
import pytest
import strict
from op_cases import matrices

import capstan as tf
from capstan.framework.raw import raw

pytestmark = pytest.mark.e2e
SIZES = dict(zip("ijkabcdeqnh", (2, 3, 2, 2, 3, 2, 2, 3, 2, 3, 2), strict=True))


def operand(part: str) -> Any:
    shape = [SIZES.get(label, 2) for label in part.replace("...", ".")]
    return np.random.default_rng(len(part)).standard_normal(shape).astype(np.float32)


def test_all_equations_on_a_device() -> None:
    with strict.installed(1), tf.Graph().as_default(), tf.Session() as session:
        pairs = []
        for equation in matrices.EQUATIONS:
            operands = [operand(part) for part in equation.split("->")[0].split(",")]
            if "aab" in equation or "ii" in equation:
                operands = [np.ones([2] * each.ndim, np.float32) for each in operands]
            with tf.device("/gpu:0"):
                given = [tf.placeholder_with_default(each, None) for each in operands]
                found = raw.Einsum(given, equation=equation)
            # NumPy has no repeated labels in outputs.
            wanted, turned = equation, None
            if equation == "ab,bc->cca":
                wanted, turned = "ab,bc->ca", np.eye(2)[:, :, None]
            expected = np.einsum(wanted, *operands)
            pairs.append((found, expected if turned is None else turned * expected[:, None]))
        found = session.run([each for each, _ in pairs])
    for value, (_, expected) in zip(found, pairs, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("equation", "sizes", "message"),
    [
        ("ij,jk", ([2, 3], [3, 2]), "Expecting exactly one '->'"),
        ("i,i,i->i", ([2], [2]), "Expecting 1 or 2 input subscripts"),
        ("i,j->k", ([2], [2]), "labels that no input has: k"),
        ("i1->i", ([2, 2],), "Subscripts have incorrect format"),
        ("ij->ji", ([2],), "Expected input 0 to have rank 2 but got: 1"),
        ("...ij->ij", ([2, 2, 2],), "1 broadcasting dimension"),
        ("ij,jk->ik", ([2, 3], [2, 2]), "Dimensions must be equal"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_step_and_in_it(
    equation: str, sizes: Any, message: str
) -> None:
    operands = [np.zeros(size, np.float32) for size in sizes]
    with tf.Graph().as_default(), tf.Session() as session:
        if "rank" not in message:
            with pytest.raises(ValueError, match=message):
                raw.Einsum(list(map(tf.constant, operands)), equation=equation)
        late = [tf.placeholder_with_default(each, None) for each in operands]
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
            session.run(raw.Einsum(late, equation=equation))
