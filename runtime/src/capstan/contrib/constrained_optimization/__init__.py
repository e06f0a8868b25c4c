"""`tf.contrib.constrained_optimization`: minimise a loss while other tensors stay at most 0.

class Problem(tf.contrib.constrained_optimization.ConstrainedMinimizationProblem):
    objective = property(lambda self: loss)
    constraints = property(lambda self: tf.stack([0.9 - recall]))
    proxy_constraints = property(lambda self: tf.stack([0.9 - smooth_recall]))

optimizer = tf.contrib.constrained_optimization.MultiplicativeSwapRegretOptimizer(
    tf.train.AdagradOptimizer(0.1)
)
train_op = optimizer.minimize_constrained(Problem(), global_step)
"""

from typing import Any

from capstan.api.absent import absent
from capstan.contrib.constrained_optimization.candidates import (
    find_best_candidate_distribution,
    find_best_candidate_index,
)
from capstan.contrib.constrained_optimization.optimizer import ConstrainedOptimizer
from capstan.contrib.constrained_optimization.problem import ConstrainedMinimizationProblem
from capstan.contrib.constrained_optimization.regret import (
    AdditiveExternalRegretOptimizer,
    AdditiveSwapRegretOptimizer,
    MultiplicativeSwapRegretOptimizer,
)
from capstan.core import alias

__all__ = [
    "AdditiveExternalRegretOptimizer",
    "AdditiveSwapRegretOptimizer",
    "ConstrainedMinimizationProblem",
    "ConstrainedOptimizer",
    "MultiplicativeSwapRegretOptimizer",
    "find_best_candidate_distribution",
    "find_best_candidate_index",
]

_HERE = "capstan.contrib.constrained_optimization"
alias.grow(
    __name__,
    {
        "python.candidates": (f"{_HERE}.candidates",),
        "python.constrained_minimization_problem": (f"{_HERE}.problem",),
        "python.constrained_optimizer": (f"{_HERE}.optimizer",),
        "python.external_regret_optimizer": (f"{_HERE}.regret",),
        "python.swap_regret_optimizer": (f"{_HERE}.regret",),
    },
)


def __getattr__(name: str) -> Any:
    raise absent("tf.contrib.constrained_optimization", name)


def __dir__() -> list[str]:
    return sorted({*__all__, *alias.inside(globals())})
