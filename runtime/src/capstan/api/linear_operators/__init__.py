"""The linear operators of `tf.linalg` (python/ops/linalg/linear_operator.py and its neighbours).

A linear operator stands for a batch of matrices whose elements it need not have. For example, a
diagonal operator multiplies and solves in linear time.
"""

from capstan.api.linear_operators import registrations as registrations
from capstan.api.linear_operators.adjoint import LinearOperatorAdjoint as LinearOperatorAdjoint
from capstan.api.linear_operators.block_diag import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
)
from capstan.api.linear_operators.circulant import (
    LinearOperatorCirculant as LinearOperatorCirculant,
)
from capstan.api.linear_operators.circulant import (
    LinearOperatorCirculant2D as LinearOperatorCirculant2D,
)
from capstan.api.linear_operators.circulant import (
    LinearOperatorCirculant3D as LinearOperatorCirculant3D,
)
from capstan.api.linear_operators.composition import (
    LinearOperatorComposition as LinearOperatorComposition,
)
from capstan.api.linear_operators.diag import LinearOperatorDiag as LinearOperatorDiag
from capstan.api.linear_operators.full_matrix import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
)
from capstan.api.linear_operators.householder import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
)
from capstan.api.linear_operators.identity import LinearOperatorIdentity as LinearOperatorIdentity
from capstan.api.linear_operators.identity import (
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
)
from capstan.api.linear_operators.inversion import (
    LinearOperatorInversion as LinearOperatorInversion,
)
from capstan.api.linear_operators.kronecker import (
    LinearOperatorKronecker as LinearOperatorKronecker,
)
from capstan.api.linear_operators.low_rank_update import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from capstan.api.linear_operators.lower_triangular import (
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from capstan.api.linear_operators.operator import LinearOperator as LinearOperator
from capstan.api.linear_operators.toeplitz import LinearOperatorToeplitz as LinearOperatorToeplitz
from capstan.api.linear_operators.zeros import LinearOperatorZeros as LinearOperatorZeros
