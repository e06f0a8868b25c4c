"""The roles of deploy/rbac.yaml suffice for the operator, and the operator needs all their rights.

Each promise of the operator is tested at least twice. With all rights the promise must hold.
Without one of the rights that it needs, it must not hold.
"""

import contextlib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from testbed import wait
from testbed.control import Cluster
from testbed.faults import Fault
from testbed.kubelet import Kubelet
from testbed.rights import RIGHTS, Proof, Right
from testbed.rights_promises import BEHIND_A_PROXY, NEEDED_FOR, Promise
from testbed.trials import Place, Trial

AT_ONCE = 4
BROKEN_SECONDS = 2
"""How long a broken promise must stay broken after the API server has refused a request."""

PROMISES = tuple(dict.fromkeys(NEEDED_FOR.values()))
WITH_ALL_RIGHTS = [Trial(promise) for promise in PROMISES]
WITHOUT_A_RIGHT = [
    Trial(NEEDED_FOR[str(right)], right) for right in RIGHTS if str(right) in NEEDED_FOR
]


@pytest.fixture(scope="module")
def outcomes(
    cluster: Cluster,
    kubelet: Kubelet,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Mapping[Trial, Future[None]]]:
    """The trials of all selected tests. AT_ONCE of them run at a time."""
    place = Place(cluster, kubelet, tmp_path_factory.mktemp("rbac"))
    selected = [
        item.callspec.params["trial"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.path == request.path
        and "outcomes" in item.fixturenames
    ]
    shared = [trial for trial in selected if not trial.is_alone]
    with place.together(shared) as proofs, ThreadPoolExecutor(AT_ONCE) as pool:
        yield {
            trial: pool.submit(run_trial, trial, proofs[trial])
            if trial in proofs
            else pool.submit(run_alone, place, trial)
            for trial in selected
        }
        pool.shutdown(cancel_futures=True)


def run_alone(place: Place, trial: Trial) -> None:
    with place.alone(trial) as proof:
        run_trial(trial, proof)


def run_trial(trial: Trial, proof: Proof) -> None:
    with explained(proof):
        if trial.without is None:
            check_kept(trial.promise, proof)
        else:
            check_broken(trial.promise, proof, trial.without)


def check_kept(promise: Promise, proof: Proof) -> None:
    """Assert that the promise holds with all rights and that the API server refuses nothing."""
    wait.until(promise(proof))
    assert not proof.refusals()


def check_broken(promise: Promise, proof: Proof, right: Right) -> None:
    """Assert that the API server refuses a request without the right, and that the promise does not
    hold.
    """
    if right.verb == "watch":
        wait.until(lambda: proof.is_refused(right))
        if promise not in BEHIND_A_PROXY:
            no_lists = Fault(frozenset({"list"}), frozenset({right.resource}), hole=True)
            proof.stack.enter_context(proof.proxy.fault(no_lists))
    holds = promise(proof)
    wait.until(lambda: proof.is_refused(right))
    with pytest.raises(AssertionError):
        wait.until(holds, within=BROKEN_SECONDS)


@contextlib.contextmanager
def explained(proof: Proof) -> Iterator[None]:
    """Add the operator's log to the error of the block."""
    try:
        yield
    except (AssertionError, pytest.fail.Exception) as error:
        raise AssertionError(f"{error}\n{proof.story.operator.tail()}") from error


@pytest.mark.parametrize("trial", WITH_ALL_RIGHTS, ids=lambda trial: trial.promise.__name__)
def test_the_operator_keeps_a_promise_with_all_rights(
    trial: Trial, outcomes: Mapping[Trial, Future[None]]
) -> None:
    outcomes[trial].result()


@pytest.mark.parametrize("trial", WITHOUT_A_RIGHT, ids=lambda trial: str(trial.without))
def test_the_operator_breaks_a_promise_without_this_right(
    trial: Trial, outcomes: Mapping[Trial, Future[None]]
) -> None:
    outcomes[trial].result()


def test_every_right_is_needed_for_a_promise() -> None:
    """test_gangs.py tests the rights on PodGroups, which this cluster does not serve."""
    rights = [right for right in RIGHTS if right.resource != "podgroups"]
    assert sorted(map(str, rights)) == sorted(NEEDED_FOR)


def test_the_operator_finds_no_secret_whose_name_it_does_not_know() -> None:
    """It reads only the Secrets that it makes. Its tests/app/test_certificates.py shows that no
    other object gets their keys."""
    assert "*" not in {right.resource for right in RIGHTS}
    verbs = {right.verb for right in RIGHTS if right.resource == "secrets"}
    assert verbs == {"get", "create", "patch"}
