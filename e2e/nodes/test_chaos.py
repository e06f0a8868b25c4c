"""Jobs train to their end although tasks, nodes, the operator and the API server fail at random."""

import contextlib

import pytest

from testbed import chaos
from testbed import nodes as real_nodes
from testbed.chaos import MINUTE, Chaos
from testbed.current import Current
from testbed.installation import install
from testbed.nodes import Nodes
from testbed.programs import Unavailable
from testbed.random_faults import NODES

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(0)]


def three_nodes() -> contextlib.AbstractContextManager[Nodes]:
    """Run a Kubernetes that notices a lost node as late as a Kubernetes does by default."""
    images = ("runtime", "operator", "digits")
    return real_nodes.running(NODES, images=images, node_grace="40s")


@pytest.fixture
def nodes(current: Current) -> Nodes:
    """Three nodes with the operator. The test may kill all of them."""
    try:
        nodes = current.use(three_nodes)
    except Unavailable as reason:
        pytest.skip(str(reason))
    install(nodes)
    return nodes


@pytest.mark.soak
@pytest.mark.parametrize("minutes", [5, 60])
def test_no_failure_is_lost_or_counted_twice_in_chaos(
    minutes: float, nodes: Nodes, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Chaos(nodes, seed)

    def tell(line: str) -> None:
        with capsys.disabled():
            print(line, flush=True)

    tell(f"chaos for {minutes:g} minutes, seed {seed}")
    run.run(minutes * MINUTE, tell)
    tell("\n".join(chaos.table(run, minutes)))
    assert run.wrong == []
    assert run.ended
