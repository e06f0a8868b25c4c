"""The two services, called by real clients of a real server over a port."""

import contextlib
import pathlib
import threading
from concurrent import futures
from typing import Any

import authority
import clusters
import grpc
import numpy as np
import psutil
import pytest
import recording

from capstan import errors
from capstan.core import config, dtypes, function, node, tensor_proto
from capstan.transport import cancellation as cancellations
from capstan.transport import certificates, interfaces
from capstan.transport.grpc import (
    calls,
    channels,
    intake,
    remote_master,
    remote_worker,
    server,
    wire,
)

FUNCTIONS = tuple(
    function.Function(
        name,
        (function.Argument("x", dtypes.float32),),
        (node.Edge("y"),),
        {"y": node.Node("y", "Neg", (node.Edge("x"),), attrs={"T": dtypes.float32})},
        result_names=("z",),
        result_dtypes=(dtypes.float32,),
    )
    for name in ("first", "second")
)


def test_sessions_are_created_extended_and_closed(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    settings = config.SessionConfig(allow_soft_placement=True, device_filters=("/job:ps",))
    task.answer = "00ff"
    assert master.create_session(recording.NODES, settings, functions=FUNCTIONS) == "00ff"
    task.answer = 4
    assert master.extend_session("00ff", recording.NODES[1:], 3, FUNCTIONS[1:]) == 4
    task.answer = None
    master.close_session("00ff")
    master.reset(["a", "b"], ["/job:ps"])
    assert task.asked == [
        ("create", recording.NODES, settings, *FUNCTIONS),
        ("extend", "00ff", recording.NODES[1:], 3, *FUNCTIONS[1:]),
        ("close", "00ff"),
        ("reset", ["a", "b"], ["/job:ps"]),
    ]


def test_a_step_carries_feeds_and_fetches(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    task.answer = [np.float32(2), np.array([[b"s", b""]], object)]
    feeds = {"x:0": np.arange(3), "s:0": np.array(b"bytes", object)}
    options = interfaces.StepOptions(timeout_ms=5000)
    number, words = master.run_step("h", feeds, ["y:0", "w:1"], ["train"], options)
    assert number == 2
    assert number.dtype == np.float32
    assert words.tolist() == [[b"s", b""]]
    assert task.asked == [
        ("run", "h", {"x:0": [0, 1, 2], "s:0": b"bytes"}, ["y:0", "w:1"], ["train"], options)
    ]


def test_a_callable_is_made_run_and_released(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    options = interfaces.StepOptions(700, 3, output_partition_graphs=True)
    task.answer = 2**40
    assert master.make_callable("h", ["x:0", "s:0"], ["y:0"], ["train"], options) == 2**40
    task.answer = [np.array([1, 2]), np.array(b"word", object)]
    (numbers, word), _ = master.run_callable("h", 2**40, [np.arange(3), np.array([b"s"], object)])
    assert (numbers.tolist(), word.tolist()) == ([1, 2], b"word")
    master.release_callable("h", 2**40)
    assert task.asked == [
        ("make", "h", ["x:0", "s:0"], ["y:0"], ["train"], options),
        ("call", "h", 2**40, [[0, 1, 2], [b"s"]]),
        ("release", "h", 2**40),
    ]


def test_a_step_is_fed_and_fetched_in_portions(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    task.answer = "17"
    assert master.partial_run_setup("h", ["x:0"], ["y:0"], ["train"]) == "17"
    task.answer = [np.float32(2)]
    options = interfaces.StepOptions(timeout_ms=700)
    assert master.partial_run("h", "17", {"x:0": np.array(1)}, ["y:0"], options) == [2]
    assert task.asked == [
        ("setup", "h", ["x:0"], ["y:0"], ["train"]),
        ("portion", "h", "17", {"x:0": 1}, ["y:0"], options),
    ]


def test_a_callable_that_connects_tensors_is_refused(address: str) -> None:
    request = wire.MakeCallableRequest()
    request.options.tensor_connection.add(from_tensor="a:0", to_tensor="b:0")
    with channels.open_channel(address) as channel:
        make = channels.method(channel, channels.MASTER, "MakeCallable")
        with pytest.raises(grpc.RpcError, match=r"UNIMPLEMENTED(.|\n)*feed the tensor 'b:0'"):
            make(request)


@pytest.mark.parametrize("name, answer", [("MakeCallable", 41), ("PartialRunSetup", "41")])
def test_a_repeated_request_for_a_handle_gets_the_same_handle(
    address: str, task: recording.Recorder, name: str, answer: Any
) -> None:
    request = getattr(wire, f"{name}Request")(session_handle="h", request_id=5)
    with channels.open_channel(address) as channel:
        ask = channels.method(channel, channels.MASTER, name)
        task.answer = answer
        first = ask(request)
        task.answer = None
        assert ask(request) == first
    assert len(task.asked) == 1


def test_a_repeated_request_gets_the_same_error(address: str, task: recording.Recorder) -> None:
    task.answer = errors.UnavailableError(None, None, "ps is away")
    with channels.open_channel(address) as channel:
        call = channels.method(channel, channels.MASTER, "RunCallable")
        for _ in range(3):
            with pytest.raises(grpc.RpcError, match="ps is away"):
                call(wire.RunCallableRequest(session_handle="h", request_id=6))
    assert len(task.asked) == 1


@pytest.mark.e2e
def test_large_tensors_travel_in_a_step(
    master: remote_master.GrpcMaster, task: recording.Recorder
) -> None:
    task.answer = [np.zeros(20 << 20, np.uint8)]
    (value,) = master.run_step("h", {"x:0": np.array(1)}, ["y:0"], [], interfaces.StepOptions())
    assert value.nbytes == 20 << 20


LARGE = {"x:0": np.array(b"x" * intake.LARGE_BYTES, object)}


def open_connections(address: str) -> set[int]:
    """Return the ports of this process that are connected to `address`."""
    port = int(address.rpartition(":")[2])
    return {
        each.laddr.port
        for each in psutil.Process().net_connections("tcp")
        if each.status == psutil.CONN_ESTABLISHED and each.raddr.port == port
    }


@pytest.mark.e2e
def test_a_large_request_has_a_connection_of_its_own(
    master: remote_master.GrpcMaster,
    address: str,
    task: recording.Recorder,
    aside: futures.Executor,
    eventually: Any,
) -> None:
    """gRPC keeps the buffers of a connection, which are as large as its largest request."""
    step = ([], ["t"], interfaces.StepOptions())
    task.answer = []
    master.run_step("h", {}, *step)
    before = open_connections(address)
    assert len(before) == 1
    task.gate = threading.Event()
    large = aside.submit(master.run_step, "h", LARGE, *step)
    eventually(lambda: len(task.asked) == 2)
    assert len(open_connections(address) - before) == 1
    task.gate.set()
    assert large.result(50) == []
    eventually(lambda: open_connections(address) == before)


@pytest.mark.e2e
def test_a_large_request_ends_when_its_client_closes(
    master: remote_master.GrpcMaster,
    task: recording.Recorder,
    aside: futures.Executor,
    eventually: Any,
) -> None:
    task.answer = []
    task.gate = threading.Event()
    large = aside.submit(master.run_step, "h", LARGE, [], ["t"], interfaces.StepOptions())
    eventually(lambda: task.asked)
    master.close()
    with pytest.raises(errors.OpError):
        large.result(50)
    task.gate.set()
    with pytest.raises(errors.UnavailableError, match="was closed"):
        master.run_step("h", LARGE, [], ["t"], interfaces.StepOptions())


def test_devices_are_listed(master: remote_master.GrpcMaster, task: recording.Recorder) -> None:
    task.answer = recording.DEVICES
    assert master.list_devices("h") == recording.DEVICES


def test_a_list_of_devices_is_cancelled_by_its_caller(
    master: remote_master.GrpcMaster,
    task: recording.Recorder,
    aside: futures.Executor,
    eventually: Any,
) -> None:
    task.answer, task.gate = recording.DEVICES, threading.Event()
    cancellation = cancellations.Cancellation()
    listing = aside.submit(master.list_devices, "", cancellation)
    eventually(lambda: task.cancellation)
    cancellation.cancel()
    with pytest.raises(errors.CancelledError):
        listing.result(50)
    task.gate.set()


@pytest.mark.parametrize("code", range(1, 17))
def test_every_error_keeps_its_class_on_the_way(
    master: remote_master.GrpcMaster,
    worker: remote_worker.GrpcWorker,
    task: recording.Recorder,
    code: int,
) -> None:
    task.answer = errors.from_code(code, "why: ü {{node y}}")
    for call in (
        lambda: worker.register_graph("s", recording.PART),
        lambda: master.extend_session("h", recording.NODES, 0),
        lambda: master.run_step("h", {}, [], ["y"], interfaces.StepOptions()),
    ):
        with pytest.raises(type(task.answer), match=r"why: ü \{\{node y\}\}$"):
            call()


def test_a_long_message_keeps_its_beginning(
    worker: remote_worker.GrpcWorker, task: recording.Recorder
) -> None:
    task.answer = errors.NotFoundError(None, None, "No kernel" + "ü" * 100_000)
    with pytest.raises(errors.NotFoundError, match=r"^No kernelü+ \.\.\.$"):
        worker.register_graph("s", recording.PART)


def test_the_error_of_a_step_is_in_its_response(address: str, task: recording.Recorder) -> None:
    task.answer = errors.UnavailableError(None, None, "ps is away")
    with channels.open_channel(address) as channel:
        run = channels.method(channel, channels.MASTER, "RunStep")
        response = run(wire.RunStepRequest(store_errors_in_response_body=True))
        assert (response.status_code, response.status_error_message) == (14, "ps is away")
        with pytest.raises(grpc.RpcError, match="ps is away"):
            run(wire.RunStepRequest())


def test_the_last_response_of_a_step_has_metadata(address: str, task: recording.Recorder) -> None:
    task.answer = []
    with channels.open_channel(address) as channel:
        response = channels.method(channel, channels.MASTER, "RunStep")(wire.RunStepRequest())
        assert response.HasField("metadata")


def test_a_step_that_is_sent_twice_runs_once(
    address: str, task: recording.Recorder, aside: futures.Executor, eventually: Any
) -> None:
    task.answer = [np.float32(1)]
    task.gate = threading.Event()
    request = wire.RunStepRequest(fetch=["y:0"], request_id=77, store_errors_in_response_body=True)
    with channels.open_channel(address) as channel:
        run = channels.method(channel, channels.MASTER, "RunStep")
        both = [aside.submit(run, request) for _ in range(2)]
        eventually(lambda: task.asked)
        task.gate.set()
        responses = [call.result(50) for call in both]
        late = run(request)
    assert len(task.asked) == 1
    # Either call may arrive first. If the other arrives after the first has ended, its answer is
    # the error that the result is lost.
    results = [[tensor.name for tensor in response.tensor] for response in responses]
    assert ["y:0"] in results
    assert {response.status_code for response in responses} <= {0, errors.ABORTED}
    assert late.status_code == errors.ABORTED
    assert "has run already" in late.status_error_message


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("RunStep", {}),
        ("RunStep", {"request_id": 5}),
        ("RunStep", {"partial_run_handle": "17"}),
        ("RunCallable", {"request_id": 6}),
        ("ListDevices", {}),
    ],
)
def test_a_call_is_cancelled_when_its_client_is_gone(
    address: str, task: recording.Recorder, eventually: Any, name: str, fields: dict[str, Any]
) -> None:
    task.gate = threading.Event()
    with channels.open_channel(address) as channel:
        request = getattr(wire, f"{name}Request")(**fields)
        call = channels.method(channel, channels.MASTER, name).future(request)
        eventually(lambda: task.cancellation)
        cancellation = task.cancellation
        assert cancellation is not None
        assert not cancellation.is_cancelled
        call.cancel()
        eventually(lambda: cancellation.is_cancelled)
    task.gate.set()


def test_an_inconsistent_request_is_an_invalid_argument(address: str) -> None:
    with channels.open_channel(address) as channel:
        register = channels.method(channel, channels.WORKER, "RegisterGraph")
        with pytest.raises(grpc.RpcError, match="INVALID_ARGUMENT"):
            register(wire.RegisterGraphRequest(leg=[1, 2]))
        create = channels.method(channel, channels.MASTER, "CreateSession")
        request = wire.CreateSessionRequest()
        request.config.operation_timeout_in_ms = -1
        with pytest.raises(grpc.RpcError, match="operation_timeout_in_ms must not be negative"):
            create(request)


def test_a_step_that_feeds_a_tensor_twice_is_an_invalid_argument(
    address: str, task: recording.Recorder
) -> None:
    request = wire.RunStepRequest(session_handle="h")
    for value in (1.0, 2.0):
        request.feed.add(name="x:0", tensor=tensor_proto.make(np.array(value)))
    with channels.open_channel(address) as channel:
        run = channels.method(channel, channels.MASTER, "RunStep")
        with pytest.raises(
            grpc.RpcError, match=r'INVALID_ARGUMENT(.|\n)*"x:0.* fed more than once'
        ):
            run(request)
    assert not task.asked


@pytest.mark.e2e
def test_many_blocked_calls_do_not_delay_the_next_one(
    worker: remote_worker.GrpcWorker, task: recording.Recorder, eventually: Any
) -> None:
    task.gate = gate = threading.Event()
    with futures.ThreadPoolExecutor(40) as callers:
        # A call without a deadline, because a slow machine starts the last one seconds later.
        blocked = [callers.submit(worker.cleanup_all, [str(number)]) for number in range(40)]
        eventually(lambda: len(task.asked) == 40)
        task.gate = None
        task.answer = interfaces.WorkerStatus(1, ())
        assert worker.get_status().incarnation == 1
        gate.set()
        for call in blocked:
            call.result(50)


def test_a_port_in_use_is_an_unknown_error_that_names_it(
    address: str, task: recording.Recorder
) -> None:
    port = int(address.rpartition(":")[2])
    with pytest.raises(
        errors.UnknownError, match=rf"Could not start gRPC server on 127\.0\.0\.1:{port}: "
    ):
        server.ControlServer("127.0.0.1", port, task, task, task, bytes, 1 << 29)


def test_an_address_without_a_server_is_unavailable_at_once() -> None:
    unreachable = remote_worker.GrpcWorker("127.0.0.1:1")
    with pytest.raises(errors.UnavailableError, match=r"From 127\.0\.0\.1:1: "):
        unreachable.get_status()
    unreachable.close()


def test_a_closed_connection_is_unavailable(
    worker: remote_worker.GrpcWorker, task: recording.Recorder
) -> None:
    worker.close()
    with pytest.raises(errors.UnavailableError, match="was closed"):
        worker.get_status()


def test_peers_have_one_channel_each_and_only_those_of_the_cluster(address: str) -> None:
    peers = remote_worker.Peers({"/job:ps/replica:0/task:0": address})
    assert peers.worker("/job:ps/replica:0/task:0") is peers.worker("/job:ps/replica:0/task:0")
    with pytest.raises(errors.InvalidArgumentError, match="task:1 is not in the cluster: /job:ps"):
        peers.worker("/job:ps/replica:0/task:1")
    peers.close()


def test_a_client_reaches_a_server_that_was_restarted(task: recording.Recorder) -> None:
    task.answer = interfaces.WorkerStatus(1, ())
    # The kernel could give a port that it chose itself to another process in between.
    (address,) = clusters.addresses(1)
    port = int(address.rpartition(":")[2])
    first = server.ControlServer("127.0.0.1", port, task, task, task, bytes, 1 << 29)
    first.start()
    with contextlib.closing(remote_master.GrpcMaster(f"grpc://{address}")) as master:
        task.answer = "1"
        assert master.create_session((), config.SessionConfig()) == "1"
        first.stop()
        with pytest.raises(errors.UnavailableError):
            master.extend_session("1", (), 0)
        second = server.ControlServer("127.0.0.1", port, task, task, task, bytes, 1 << 29)
        second.start()
        task.answer = "2"
        assert master.create_session((), config.SessionConfig()) == "2"
        second.stop()


def test_a_closed_service_opens_no_channel_for_replaced_certificates(
    tmp_path: pathlib.Path,
) -> None:
    issuer = authority.Authority()
    folder = certificates.Folder(str(issuer.write(tmp_path)))
    service = calls.Service("127.0.0.1:1", channels.WORKER, tls=folder)
    service.close()
    issuer.write(tmp_path)
    with pytest.raises(errors.UnavailableError, match="was closed"):
        service.call("GetStatus", wire.GetStatusRequest(), 20.0)
    with pytest.raises(errors.UnavailableError, match="was closed"):
        service.open_tunnel()
