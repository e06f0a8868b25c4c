"""`python.ops.linalg.linear_operator_util`: systems of equations whose batches are broadcast."""

from typing import Any

from capstan.api.linear_operators import arguments
from capstan.api.scoped import scoped
from capstan.framework import convert
from capstan.framework.raw import raw


def broadcast_matrix_batch_dims(batch_matrices: Any, name: str | None = None) -> list[Any]:
    """Return the matrices as copies that all have the same batch shape."""
    with scoped(name, "broadcast_matrix_batch_dims", batch_matrices):
        return arguments.broadcast_matrices(batch_matrices)


def cholesky_solve_with_broadcast(chol: Any, rhs: Any, name: str | None = None) -> Any:
    """Solve the systems whose matrices have these Cholesky factors."""
    with scoped(name, "CholeskySolveWithBroadcast", (chol, rhs)):
        return arguments.cholesky_solve(chol, rhs)


def matrix_solve_with_broadcast(
    matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solve systems of linear equations. See `tf.linalg.solve`."""
    with scoped(name, "MatrixSolveWithBroadcast", (matrix, rhs)):
        return arguments.matrix_solve(*_pair(matrix, rhs), adjoint=adjoint)


def matrix_triangular_solve_with_broadcast(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Any:
    """Solve systems with triangular matrices. See `tf.linalg.triangular_solve`."""
    with scoped(name, "MatrixTriangularSolve", (matrix, rhs)):
        matrix, rhs = arguments.broadcast_matrices(_pair(matrix, rhs))
        return raw.MatrixTriangularSolve(matrix, rhs, lower=lower, adjoint=adjoint)


def _pair(matrix: Any, rhs: Any) -> tuple[Any, Any]:
    matrix = convert.convert_to_tensor(matrix, name="matrix")
    return matrix, convert.convert_to_tensor(rhs, matrix.dtype, "rhs")
