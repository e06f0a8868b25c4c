"""`tf.contrib.distributions.bijectors`: invertible functions, for TransformedDistribution."""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.distributions.bijectors.affine import Affine as Affine
from capstan.contrib.distributions.bijectors.affine_linear_operator import (
    AffineLinearOperator as AffineLinearOperator,
)
from capstan.contrib.distributions.bijectors.batch_normalization import (
    BatchNormalization as BatchNormalization,
)
from capstan.contrib.distributions.bijectors.bijector import Bijector as Bijector
from capstan.contrib.distributions.bijectors.composed import Chain as Chain
from capstan.contrib.distributions.bijectors.composed import Inline as Inline
from capstan.contrib.distributions.bijectors.composed import Invert as Invert
from capstan.contrib.distributions.bijectors.conditional import (
    ConditionalBijector as ConditionalBijector,
)
from capstan.contrib.distributions.bijectors.curves import Gumbel as Gumbel
from capstan.contrib.distributions.bijectors.curves import Kumaraswamy as Kumaraswamy
from capstan.contrib.distributions.bijectors.curves import PowerTransform as PowerTransform
from capstan.contrib.distributions.bijectors.curves import SinhArcsinh as SinhArcsinh
from capstan.contrib.distributions.bijectors.curves import Softsign as Softsign
from capstan.contrib.distributions.bijectors.curves import Weibull as Weibull
from capstan.contrib.distributions.bijectors.elementwise import AffineScalar as AffineScalar
from capstan.contrib.distributions.bijectors.elementwise import Exp as Exp
from capstan.contrib.distributions.bijectors.elementwise import Identity as Identity
from capstan.contrib.distributions.bijectors.elementwise import Sigmoid as Sigmoid
from capstan.contrib.distributions.bijectors.elementwise import Softplus as Softplus
from capstan.contrib.distributions.bijectors.halves import AbsoluteValue as AbsoluteValue
from capstan.contrib.distributions.bijectors.halves import Square as Square
from capstan.contrib.distributions.bijectors.masked_autoregressive import (
    MaskedAutoregressiveFlow as MaskedAutoregressiveFlow,
)
from capstan.contrib.distributions.bijectors.masked_autoregressive import (
    masked_autoregressive_default_template as masked_autoregressive_default_template,
)
from capstan.contrib.distributions.bijectors.masked_autoregressive import (
    masked_dense as masked_dense,
)
from capstan.contrib.distributions.bijectors.matrices import (
    CholeskyOuterProduct as CholeskyOuterProduct,
)
from capstan.contrib.distributions.bijectors.matrices import FillTriangular as FillTriangular
from capstan.contrib.distributions.bijectors.matrices import MatrixInverseTriL as MatrixInverseTriL
from capstan.contrib.distributions.bijectors.matrices import ScaleTriL as ScaleTriL
from capstan.contrib.distributions.bijectors.matrices import TransformDiagonal as TransformDiagonal
from capstan.contrib.distributions.bijectors.ordered import Ordered as Ordered
from capstan.contrib.distributions.bijectors.permute import Permute as Permute
from capstan.contrib.distributions.bijectors.real_nvp import RealNVP as RealNVP
from capstan.contrib.distributions.bijectors.real_nvp import (
    real_nvp_default_template as real_nvp_default_template,
)
from capstan.contrib.distributions.bijectors.reshape import Reshape as Reshape
from capstan.contrib.distributions.bijectors.softmax_centered import (
    SoftmaxCentered as SoftmaxCentered,
)
from capstan.core import public


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.distributions.bijectors", name)


def __dir__() -> list[str]:
    return public.names(globals())
