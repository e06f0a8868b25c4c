"""`tf.contrib.distributions`: `tf.distributions`, and distributions that only contrib has."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.distributions import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from capstan.api.distributions import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from capstan.api.distributions import Bernoulli as Bernoulli
from capstan.api.distributions import Beta as Beta
from capstan.api.distributions import Categorical as Categorical
from capstan.api.distributions import Dirichlet as Dirichlet
from capstan.api.distributions import DirichletMultinomial as DirichletMultinomial
from capstan.api.distributions import Distribution as Distribution
from capstan.api.distributions import Exponential as Exponential
from capstan.api.distributions import Gamma as Gamma
from capstan.api.distributions import Laplace as Laplace
from capstan.api.distributions import Multinomial as Multinomial
from capstan.api.distributions import Normal as Normal
from capstan.api.distributions import RegisterKL as RegisterKL
from capstan.api.distributions import ReparameterizationType as ReparameterizationType
from capstan.api.distributions import StudentT as StudentT
from capstan.api.distributions import Uniform as Uniform
from capstan.api.distributions import kl_divergence as kl_divergence
from capstan.api.distributions.beta import (
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
)
from capstan.api.distributions.exponential import (
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
)
from capstan.api.distributions.gamma import (
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
)
from capstan.api.distributions.laplace import LaplaceWithSoftplusScale as LaplaceWithSoftplusScale
from capstan.api.distributions.normal import NormalWithSoftplusScale as NormalWithSoftplusScale
from capstan.api.distributions.student_t import (
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)
from capstan.contrib import package_aliases
from capstan.contrib.distributions import bijectors as bijectors
from capstan.contrib.distributions.auto_correlation import (
    auto_correlation as auto_correlation,
)
from capstan.contrib.distributions.autoregressive import (
    Autoregressive as Autoregressive,
)
from capstan.contrib.distributions.batch_reshape import (
    BatchReshape as BatchReshape,
)
from capstan.contrib.distributions.binomial import Binomial as Binomial
from capstan.contrib.distributions.cauchy import Cauchy as Cauchy
from capstan.contrib.distributions.chi2 import Chi2 as Chi2
from capstan.contrib.distributions.chi2 import Chi2WithAbsDf as Chi2WithAbsDf
from capstan.contrib.distributions.conditional_distribution import (
    ConditionalDistribution as ConditionalDistribution,
)
from capstan.contrib.distributions.conditional_distribution import (
    ConditionalTransformedDistribution as ConditionalTransformedDistribution,
)
from capstan.contrib.distributions.deterministic import Deterministic as Deterministic
from capstan.contrib.distributions.deterministic import VectorDeterministic as VectorDeterministic
from capstan.contrib.distributions.geometric import Geometric as Geometric
from capstan.contrib.distributions.half_normal import HalfNormal as HalfNormal
from capstan.contrib.distributions.independent import Independent as Independent
from capstan.contrib.distributions.inverse_gamma import InverseGamma as InverseGamma
from capstan.contrib.distributions.inverse_gamma import (
    InverseGammaWithSoftplusConcentrationRate as InverseGammaWithSoftplusConcentrationRate,
)
from capstan.contrib.distributions.kumaraswamy import (
    Kumaraswamy as Kumaraswamy,
)
from capstan.contrib.distributions.logistic import Logistic as Logistic
from capstan.contrib.distributions.mixture import Mixture as Mixture
from capstan.contrib.distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from capstan.contrib.distributions.moving_stats import (
    assign_log_moving_mean_exp as assign_log_moving_mean_exp,
)
from capstan.contrib.distributions.moving_stats import (
    assign_moving_mean_variance as assign_moving_mean_variance,
)
from capstan.contrib.distributions.moving_stats import moving_mean_variance as moving_mean_variance
from capstan.contrib.distributions.mvn_diag import MultivariateNormalDiag as MultivariateNormalDiag
from capstan.contrib.distributions.mvn_diag import (
    MultivariateNormalDiagWithSoftplusScale as MultivariateNormalDiagWithSoftplusScale,
)
from capstan.contrib.distributions.mvn_low_rank import (
    MultivariateNormalDiagPlusLowRank as MultivariateNormalDiagPlusLowRank,
)
from capstan.contrib.distributions.mvn_tril import (
    MultivariateNormalFullCovariance as MultivariateNormalFullCovariance,
)
from capstan.contrib.distributions.mvn_tril import MultivariateNormalTriL as MultivariateNormalTriL
from capstan.contrib.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from capstan.contrib.distributions.normal_conjugates import (
    normal_conjugates_known_scale_posterior as normal_conjugates_known_scale_posterior,
)
from capstan.contrib.distributions.normal_conjugates import (
    normal_conjugates_known_scale_predictive as normal_conjugates_known_scale_predictive,
)
from capstan.contrib.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
from capstan.contrib.distributions.parameters import fill_triangular as fill_triangular
from capstan.contrib.distributions.parameters import (
    fill_triangular_inverse as fill_triangular_inverse,
)
from capstan.contrib.distributions.parameters import matrix_diag_transform as matrix_diag_transform
from capstan.contrib.distributions.parameters import (
    reduce_weighted_logsumexp as reduce_weighted_logsumexp,
)
from capstan.contrib.distributions.parameters import softplus_inverse as softplus_inverse
from capstan.contrib.distributions.parameters import (
    tridiag as tridiag,
)
from capstan.contrib.distributions.poisson import Poisson as Poisson
from capstan.contrib.distributions.poisson_log_normal import (
    PoissonLogNormalQuadratureCompound as PoissonLogNormalQuadratureCompound,
)
from capstan.contrib.distributions.poisson_log_normal import (
    quadrature_scheme_lognormal_gauss_hermite as quadrature_scheme_lognormal_gauss_hermite,
)
from capstan.contrib.distributions.poisson_log_normal import (
    quadrature_scheme_lognormal_quantiles as quadrature_scheme_lognormal_quantiles,
)
from capstan.contrib.distributions.quantized_distribution import (
    QuantizedDistribution as QuantizedDistribution,
)
from capstan.contrib.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from capstan.contrib.distributions.relaxed_one_hot_categorical import (
    ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical,
)
from capstan.contrib.distributions.relaxed_one_hot_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from capstan.contrib.distributions.sample_stats import percentile as percentile
from capstan.contrib.distributions.seed_stream import SeedStream as SeedStream
from capstan.contrib.distributions.sinh_arcsinh import (
    SinhArcsinh as SinhArcsinh,
)
from capstan.contrib.distributions.sinh_arcsinh import (
    VectorSinhArcsinhDiag as VectorSinhArcsinhDiag,
)
from capstan.contrib.distributions.transformed_distribution import (
    TransformedDistribution as TransformedDistribution,
)
from capstan.contrib.distributions.vector_diag import VectorExponentialDiag as VectorExponentialDiag
from capstan.contrib.distributions.vector_diag import VectorLaplaceDiag as VectorLaplaceDiag
from capstan.contrib.distributions.wishart import WishartCholesky as WishartCholesky
from capstan.contrib.distributions.wishart import WishartFull as WishartFull
from capstan.core import public

package_aliases.grow(__name__)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.distributions", name)


def __dir__() -> list[str]:
    return public.names(globals())
