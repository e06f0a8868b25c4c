"""Every optimizer builds TensorFlow's graph and gives TensorFlow's numbers."""

from collections.abc import Callable
from typing import Any

import genuine
import numpy as np
import pytest

import capstan

pytestmark = genuine.MARKS

STEPS = 3
OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "GradientDescent": lambda train, step: train.GradientDescentOptimizer(0.1),
    "Momentum": lambda train, step: train.MomentumOptimizer(0.1, 0.9),
    "Nesterov": lambda train, step: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda train, step: train.AdamOptimizer(0.1, use_locking=True),
    "Adagrad": lambda train, step: train.AdagradOptimizer(0.5),
    "AdagradDA": lambda train, step: train.AdagradDAOptimizer(0.5, step, 0.2, 0.01, 0.02),
    "Adadelta": lambda train, step: train.AdadeltaOptimizer(0.5, 0.8, 1e-3),
    "RMSProp": lambda train, step: train.RMSPropOptimizer(0.1, 0.8, 0.5),
    "Centered": lambda train, step: train.RMSPropOptimizer(0.1, 0.8, 0.5, 0.1, centered=True),
    "Ftrl": lambda train, step: train.FtrlOptimizer(
        0.5, l1_regularization_strength=0.01, l2_regularization_strength=0.02
    ),
    "FtrlShrinkage": lambda train, step: train.FtrlOptimizer(
        0.5, -0.4, 0.3, 0.01, accum_name="sum", l2_shrinkage_regularization_strength=0.1
    ),
    "ProximalGradientDescent": lambda train, step: train.ProximalGradientDescentOptimizer(
        0.1, 0.1, 0.2
    ),
    "ProximalAdagrad": lambda train, step: train.ProximalAdagradOptimizer(0.5, 0.2, 0.1, 0.2),
}


def trained(
    module: Any, optimizer: str, dtype: Any, *, is_resource: bool
) -> tuple[dict[str, tuple[str, list[str], str]], dict[str, Any]]:
    """Return the nodes of the updates and slots, and the final values of all variables.

    One variable has a dense gradient. The other has a sparse gradient with a repeated row.
    """
    with module.Graph().as_default() as graph, module.Session() as session:
        module.get_variable_scope().set_use_resource(is_resource)
        step = module.train.get_or_create_global_step()
        w = module.get_variable("w", initializer=np.array([[1, -2], [0.5, 3]], dtype))
        table = module.get_variable(
            "table", initializer=np.arange(1, 9, dtype=dtype).reshape(4, 2) / 4
        )
        gradients = [
            (module.constant(np.array([[0.5, -1], [2, 0]], dtype)), w),
            (
                module.IndexedSlices(
                    module.constant(np.array([[1, 2], [-1, 0.5], [0.5, 1]], dtype)),
                    module.constant([2, 0, 2]),
                    module.constant([4, 2]),
                ),
                table,
            ),
        ]
        made = len(graph.get_operations())
        train = OPTIMIZERS[optimizer](module.train, step).apply_gradients(
            gradients, global_step=step
        )
        nodes = {
            # TensorFlow 1.4 adds by Add, and TensorFlow 2 by AddV2.
            op.name: (op.type.removesuffix("V2"), [t.name for t in op.inputs], op.device)
            for op in graph.get_operations()[made:]
        }
        session.run(module.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train)
        variables = module.global_variables()
        return nodes, dict(zip([v.name for v in variables], session.run(variables), strict=True))


@pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizer_builds_tensorflows_graph_and_gives_its_numbers(
    v1: Any, optimizer: str, is_resource: bool
) -> None:
    # TensorFlow's proximal optimizers do not cast their float32 hyperparameters.
    for dtype in (np.float32,) if "Proximal" in optimizer else (np.float32, np.float64):
        nodes, values = trained(capstan, optimizer, dtype, is_resource=is_resource)
        expected_nodes, expected = trained(v1, optimizer, dtype, is_resource=is_resource)
        if "Ftrl" not in optimizer:  # TensorFlow 2 initializes the slots of Ftrl by other nodes.
            assert nodes == expected_nodes
        assert list(values) == list(expected)
        for name, value in expected.items():
            assert values[name].dtype == value.dtype
            np.testing.assert_allclose(values[name], value, rtol=1e-5, atol=1e-7, err_msg=name)


def test_invalid_hyperparameters_are_refused_with_tensorflows_messages(v1: Any) -> None:
    for make in (
        lambda train: train.AdagradOptimizer(0.1, 0.0),
        lambda train: train.AdagradDAOptimizer(0.1, 0, 0.0),
        lambda train: train.ProximalAdagradOptimizer(0.1, -1.0),
        lambda train: train.FtrlOptimizer(0.1, 0.5),
        lambda train: train.FtrlOptimizer(0.1, initial_accumulator_value=-1.0),
        lambda train: train.FtrlOptimizer(0.1, l1_regularization_strength=-1.0),
        lambda train: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=-1.0),
    ):
        messages = []
        for module in (capstan, v1):
            with pytest.raises(ValueError) as raised:
                make(module.train)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
