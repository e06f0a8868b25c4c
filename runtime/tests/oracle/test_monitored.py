"""TensorFlow's MonitoredTrainingSession trains on Capstan, saves checkpoints, and recovers."""

import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import genuine
import numpy as np
import pytest

pytestmark = genuine.MARKS

KINDS = pytest.mark.parametrize("is_resource", [False, True], ids=["ref", "resource"])


@pytest.fixture
def killable() -> Iterator[genuine.Tasks]:
    """Tasks that the test may kill."""
    tasks = genuine.Tasks(ps=1, worker=1)
    yield tasks
    tasks.close()


def regression(v1: Any, cluster: Any, *, is_resource: bool) -> tuple[Any, Any, Any]:
    """Build a linear regression with Adam, a summary and a global step, as in usual scripts."""
    with v1.device(v1.train.replica_device_setter(cluster=cluster)):
        step = v1.train.get_or_create_global_step()
        w = v1.get_variable("w", initializer=np.float32([0.0, 0.0]), use_resource=is_resource)
        x = v1.constant(np.linspace(-1, 1, 16, dtype=np.float32))
        loss = v1.reduce_mean(v1.square(x * w[0] + w[1] - (3 * x - 1)))
        v1.summary.scalar("loss", loss)
        train = v1.train.AdamOptimizer(0.2).minimize(loss, global_step=step)
    return train, loss, step


@pytest.mark.alone
@KINDS
def test_a_monitored_session_continues_from_its_checkpoint(
    v1: Any, killable: genuine.Tasks, tmp_path: pathlib.Path, is_resource: bool
) -> None:
    def train_to(last: int) -> tuple[list[int], float]:
        with v1.Graph().as_default():
            train, loss, step = regression(v1, killable.spec, is_resource=is_resource)
            with v1.train.MonitoredTrainingSession(
                master=killable.target(),
                checkpoint_dir=str(tmp_path),
                save_checkpoint_steps=10,
                save_summaries_steps=5,
                hooks=[v1.train.StopAtStepHook(last_step=last)],
            ) as session:
                steps, losses = [], []
                while not session.should_stop():
                    _, value, at = session.run([train, loss, step])
                    steps.append(int(at))
                    losses.append(value)
        return steps, losses[-1]

    steps, early = train_to(20)
    assert len(steps) == 20
    assert v1.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-20")
    killable.kill("ps")
    killable.start("ps")
    steps, late = train_to(60)
    assert len(steps) == 40
    assert late < early
    reader = v1.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("global_step") == 60
    events = [
        event for path in tmp_path.glob("events*") for event in v1.train.summary_iterator(str(path))
    ]
    assert {value.tag for event in events for value in event.summary.value} >= {"loss"}


@pytest.mark.alone
@KINDS
def test_a_monitored_session_recovers_when_the_ps_is_restarted(
    v1: Any, killable: genuine.Tasks, tmp_path: pathlib.Path, is_resource: bool
) -> None:
    train, _loss, step = regression(v1, killable.spec, is_resource=is_resource)
    seen = []
    with v1.train.MonitoredTrainingSession(
        master=killable.target(),
        checkpoint_dir=str(tmp_path),
        save_checkpoint_steps=10,
        hooks=[v1.train.StopAtStepHook(last_step=50)],
        config=v1.ConfigProto(operation_timeout_in_ms=100_000),
    ) as session:
        while not session.should_stop():
            seen.append(int(session.run([train, step])[1]))
            if len(seen) == 25:
                killable.kill("ps")
                killable.start("ps")
    # The steps since the last checkpoint are repeated, and no step is skipped. A run may fetch the
    # step from before or from after its update, so two runs in a row may differ by two.
    assert len(seen) > 50
    assert all(later <= earlier + 2 for earlier, later in itertools.pairwise(seen))
    assert any(later < earlier for earlier, later in itertools.pairwise(seen))
    reader = v1.train.load_checkpoint(str(tmp_path))
    assert reader.get_tensor("global_step") == 50
