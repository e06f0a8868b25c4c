"""Scenarios: the status counts for how long all tasks have run."""

from reconcile.world import World, make_job

from capstan_operator.report import goodput

SLOW = {"restartBackoff": {"initialSeconds": 100}}


def share(world: World) -> float | None:
    return goodput.account(world.status).share(world.now)


def running(**spec: object) -> World:
    return World(make_job(run=SLOW, **spec), pods=True).settle()


def test_only_the_time_in_which_all_tasks_run_is_counted() -> None:
    world = running()
    assert world.status.running_seconds == 0
    world.wait(300).fail("worker-1").settle()
    assert world.status.running_seconds == 300
    down = world.now
    world.wait_for_retry()
    lost = (world.now - down).total_seconds()
    assert 80 <= lost <= 100
    world.wait(600).succeed("worker-0").settle()
    assert world.status.running_seconds == 900
    world.wait(1e6).settle()
    assert share(world) == 900 / (900 + lost)


def test_the_share_of_a_running_job_needs_no_write_of_its_status() -> None:
    world = running()
    written = world.writes
    world.wait(50).fail("worker-1").settle()
    assert share(world) == 1
    world.wait(50)
    assert share(world) == 0.5
    world.wait_for_retry()
    before, passed = share(world), (world.now - world.status.start_time).total_seconds()  # type: ignore[operator]
    assert before == 50 / passed
    world.wait(passed).settle()
    assert share(world) == (50 + passed) / (2 * passed)
    assert world.writes == written + 3


def test_the_time_begins_again_when_a_suspended_job_continues() -> None:
    world = running().wait(300)
    for suspend in (True, False):
        spec = world.job.spec.model_copy(update={"suspend": suspend})
        world.job = world.job.model_copy(update={"spec": spec})
        world.wait(1000).settle()
        if suspend:
            assert share(world) is None
    assert world.status.running_seconds == 0
    world.wait(10)
    assert share(world) == 1


def test_a_clock_that_was_set_back_takes_nothing_away() -> None:
    world = running().wait(100).fail("worker-1").settle().wait_for_retry()
    world.wait(-1000).fail("worker-1").settle()
    assert world.status.running_seconds == 100
    assert share(world) is None
