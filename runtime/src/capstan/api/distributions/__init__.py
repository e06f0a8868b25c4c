"""`tf.distributions`: probability distributions (python/ops/distributions)."""

from typing import Any

from capstan.api.absent import absent
from capstan.api.distributions.bernoulli import Bernoulli as Bernoulli
from capstan.api.distributions.beta import Beta as Beta
from capstan.api.distributions.categorical import Categorical as Categorical
from capstan.api.distributions.dirichlet import Dirichlet as Dirichlet
from capstan.api.distributions.dirichlet_multinomial import (
    DirichletMultinomial as DirichletMultinomial,
)
from capstan.api.distributions.distribution import Distribution as Distribution
from capstan.api.distributions.divergence import RegisterKL as RegisterKL
from capstan.api.distributions.divergence import kl_divergence as kl_divergence
from capstan.api.distributions.exponential import Exponential as Exponential
from capstan.api.distributions.gamma import Gamma as Gamma
from capstan.api.distributions.laplace import Laplace as Laplace
from capstan.api.distributions.multinomial import Multinomial as Multinomial
from capstan.api.distributions.normal import Normal as Normal
from capstan.api.distributions.reparameterization import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
)
from capstan.api.distributions.reparameterization import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from capstan.api.distributions.reparameterization import (
    ReparameterizationType as ReparameterizationType,
)
from capstan.api.distributions.student_t import StudentT as StudentT
from capstan.api.distributions.uniform import Uniform as Uniform
from capstan.core import public


def __getattr__(name: str) -> Any:
    raise absent("tf.distributions", name)


def __dir__() -> list[str]:
    return public.names(globals())
