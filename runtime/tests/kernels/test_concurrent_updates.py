"""Steps of several workers apply one optimizer to the same variables at the same time.

TensorFlow's kernels without `use_locking` may lose an update, but they compute each element in
registers and write it once. Capstan promises more: no update is lost, whatever `use_locking` says.
"""

import threading
from typing import Any

import background
import interpreter
import numpy as np
import pytest

import capstan as tf
from capstan.core import dtypes
from capstan.core.resource_name import ResourceName
from capstan.framework import opdef
from capstan.framework.raw import raw
from capstan.kernels import training
from capstan.resources import variable

OPS = sorted({**training.UPDATES, **training.RESOURCE_UPDATES})
DENSE = [op for op in OPS if not op.startswith("Sparse")]
SHAPE = (2, training.BLOCK)
ROUNDS = 8
OPTIONS = ({}, {"use_nesterov": True}, {"multiply_linear_by_lr": True})


class Job:
    """Variables of a parameter server, and an update of these by each worker.

    All elements of a variable are equal, and so are those of the gradients.
    """

    def __init__(self, op: str, shape: tuple[int, ...], **attributes: Any) -> None:
        self.runner = interpreter.Interpreter()
        self._arguments: dict[str, Any] = {}
        self._slots: dict[str, float] = {}
        known = {"grad": np.full(shape, 0.75), "delta": np.full(shape, 0.75)}
        known["indices"], known["global_step"] = np.arange(shape[0]), np.int64(3)
        for argument in opdef.lookup(f"Resource{op}").input_arguments:
            name = argument.name
            if argument.type == "resource":
                self._arguments[name] = self._variable(name, shape)
            else:
                self._arguments[name] = known.get(name, np.float64(0.375))
        self._make, self._attributes = getattr(raw, f"Resource{op}"), attributes

    def _variable(self, name: str, shape: tuple[int, ...]) -> Any:
        handle = raw.VarHandleOp(dtype=dtypes.float64, shape=shape, shared_name=name)
        self._slots[name] = 0.5 + len(self._slots)
        self.runner.run(raw.AssignVariableOp(handle, np.full(shape, self._slots[name])))
        return handle

    def update(self) -> Any:
        """Return an operation of its own, as each worker's graph has one."""
        made = self._make(**self._arguments, **self._attributes)
        return getattr(made, "op", made)

    def cells(self) -> dict[str, Any]:
        return {
            name: self.runner.resources.variable(
                ResourceName("localhost", name), dtypes.float64, kind=variable.ResourceVariable
            )
            for name in self._slots
        }

    def values(self) -> dict[str, float]:
        """Return the value of each variable. All its elements are equal."""
        found = {}
        for name, cell in self.cells().items():
            (found[name],) = np.unique(cell.snapshot())
        return found


class Counted(np.ndarray):
    """The memory of a variable. It counts the calls that write to it."""

    writes = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        outs = options.pop("out", ())
        for out in outs:
            if isinstance(out, Counted):
                out.writes += 1
        plain = [each.view(np.ndarray) if isinstance(each, Counted) else each for each in inputs]
        if outs:
            options["out"] = tuple(out.view(np.ndarray) for out in outs)
        return getattr(ufunc, method)(*plain, **options)


def accepted(op: str) -> list[dict[str, bool]]:
    known = opdef.lookup(f"Resource{op}").attrs
    return [options for options in OPTIONS if options.keys() <= known.keys()]


@pytest.mark.parametrize(
    ("op", "options"), [(op, options) for op in DENSE for options in accepted(op)]
)
def test_an_update_writes_its_variables_once(op: str, options: dict[str, bool]) -> None:
    """A step that reads a variable on the same task takes no lock, and must see no temporary."""
    job = Job(op, (2, 3), **options)
    cells = job.cells()
    for cell in cells.values():
        cell.array = cell.array.view(Counted)
    job.runner.run(job.update())
    written = {name: cell.array.writes for name, cell in cells.items()}
    assert set(written.values()) <= {0, 1}, written
    assert written["var"] == 1


@pytest.mark.e2e
@pytest.mark.parametrize("use_locking", [False, True])
@pytest.mark.parametrize("op", OPS)
def test_updates_of_two_workers_have_the_result_of_updates_in_sequence(
    op: str, use_locking: bool
) -> None:
    alone = Job(op, (2, 3))
    update, sequence = alone.update(), [alone.values()]
    for _ in range(2 * ROUNDS):
        alone.runner.run(update)
        sequence.append(alone.values())

    job, start = Job(op, SHAPE, use_locking=use_locking), threading.Barrier(3)

    def work(update: Any) -> None:
        start.wait(30)
        for _ in range(ROUNDS):
            job.runner.run(update)

    workers = [background.Background(lambda: work(job.update())) for _ in range(2)]
    var = job.cells()["var"]
    seen = [np.unique(var.read())]
    start.wait(30)
    while any(worker.is_alive() for worker in workers):
        # `copy` may read an element in two parts. A function of elements reads each one at once.
        seen.append(np.unique(np.positive(var.read())))
    for worker in workers:
        worker.join()
    assert job.values() == sequence[-1]
    torn = np.setdiff1d(np.concatenate(seen), [values["var"] for values in sequence])
    assert not torn.size, torn


@pytest.mark.e2e
def test_one_update_of_two_variables_keeps_their_steps_apart() -> None:
    """The steps give one node the handle of one variable or of the other."""
    shape = (8, training.BLOCK)
    variables = [
        tf.get_variable(name, shape, initializer=tf.zeros_initializer(), use_resource=True)
        for name in "ab"
    ]
    is_first, slope = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, shape)
    handle = tf.cond(is_first, lambda: variables[0].handle, lambda: variables[1].handle)
    update = tf.raw_ops.ResourceApplyGradientDescent(var=handle, alpha=1.0, delta=slope)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def work(chosen: bool, number: float) -> None:
            feeds = {is_first: chosen, slope: np.full(shape, number, np.float32)}
            for _ in range(300):
                session.run(update, feeds)

        for worker in [
            background.Background(lambda: work(True, -1.0)),
            background.Background(lambda: work(False, -2.0)),
        ]:
            worker.join()
        assert [np.unique(value).tolist() for value in session.run(variables)] == [[300], [600]]
