"""The cells of "Distributed TensorFlow: A Gentle Introduction" print the lines of the document.

The listings of its placements are in `cluster/test_traces.py`.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator

import background
import clusters
import pytest
import transcripts

TWO_SESSIONS = """
    sess1.run(tf.global_variables_initializer())
    sess2.run(tf.global_variables_initializer())
    print("Initial value of var in session 1:", sess1.run(var))
    print("Initial value of var in session 2:", sess2.run(var))
    sess1.run(var.assign_add(1.0))
    print("Incremented var in session 1")
    print("Value of var in session 1:", sess1.run(var))
    print("Value of var in session 2:", sess2.run(var))
"""
SERVERS = """
    cluster = tf.train.ClusterSpec({"local": addresses})
    server1 = tf.train.Server(cluster, job_name="local", task_index=0)
    server2 = tf.train.Server(cluster, job_name="local", task_index=1)
"""
START = """
    import json, sys, time
    cluster = tf.train.ClusterSpec(json.loads(sys.argv[1]))
"""
SERVER_TWO = """
    server2 = tf.train.Server(cluster, job_name="local", task_index=1)
    print("server 2: connected!")
    server2.join()
"""
STOP = """
    server1.stop()
    server2.stop()
"""


def joined(*parts: str) -> str:
    return "\n".join(line for part in parts for line in transcripts.lines(part))


def test_sessions_of_one_process_have_their_own_variables() -> None:
    begin = """
        var = tf.Variable(initial_value=0.0)
        sess1 = tf.Session()
        sess2 = tf.Session()
    """
    assert transcripts.printed(joined(begin, TWO_SESSIONS)) == transcripts.lines("""
        Initial value of var in session 1: 0.0
        Initial value of var in session 2: 0.0
        Incremented var in session 1
        Value of var in session 1: 1.0
        Value of var in session 2: 0.0
    """)


@pytest.mark.e2e
def test_sessions_of_one_cluster_share_a_variable() -> None:
    begin = """
        var = tf.Variable(initial_value=0.0, name='var')
        sess1 = tf.Session(server1.target)
        sess2 = tf.Session(server2.target)
    """
    program = joined(SERVERS, begin, TWO_SESSIONS, STOP)
    assert transcripts.printed(program, addresses=clusters.addresses(2)) == transcripts.lines("""
        Initial value of var in session 1: 0.0
        Initial value of var in session 2: 0.0
        Incremented var in session 1
        Value of var in session 1: 1.0
        Value of var in session 2: 1.0
    """)


@pytest.mark.e2e
def test_servers_share_values_but_no_graphs() -> None:
    cells = """
        graph1 = tf.Graph()
        with graph1.as_default():
            var1 = tf.Variable(0.0, name='var')
        sess1 = tf.Session(target=server1.target, graph=graph1)
        print(graph1.get_operations())
        graph2 = tf.Graph()
        sess2 = tf.Session(target=server2.target, graph=graph2)
        print(graph2.get_operations())
        with graph2.as_default():
            var2 = tf.Variable(0.0, name='var')
        with graph1.as_default():
            sess1.run(var1.assign(1.0))
        print(sess2.run(var2))
    """
    program = joined(SERVERS, cells, STOP)
    assert transcripts.printed(program, addresses=clusters.addresses(2)) == [
        "[<tf.Operation 'var/initial_value' type=Const>, <tf.Operation 'var' type=VariableV2>, "
        "<tf.Operation 'var/Assign' type=Assign>, <tf.Operation 'var/read' type=Identity>]",
        "[]",
        "1.0",
    ]


@pytest.fixture
def start() -> Iterator[Callable[..., transcripts.Script]]:
    """Start programs in processes, and end them with the test."""
    scripts: list[transcripts.Script] = []

    def run(program: str, *arguments: object) -> transcripts.Script:
        scripts.append(transcripts.Script(joined(START, program), *arguments))
        return scripts[-1]

    yield run
    for script in scripts:
        script.kill()


@pytest.mark.e2e
def test_a_step_waits_until_all_servers_have_connected() -> None:
    program = """
        cluster = tf.train.ClusterSpec({"local": addresses})
        server1 = tf.train.Server(cluster, job_name="local", task_index=0)
        sess1 = tf.Session(server1.target)
        no_op = tf.no_op()

        def s1():
            print("server 1: running no-op...")
            sess1.run(no_op)
            print("server 1: no-op run!")

        first = Background(s1)
        for i in range(3):
            print("server 2: %d seconds left before connecting..." % (3 - i))
        server2 = tf.train.Server(cluster, job_name="local", task_index=1)
        print("server 2: connected!")
        first.join()
        server1.stop()
        server2.stop()
    """
    addresses = clusters.addresses(2)
    printed = transcripts.printed(program, addresses=addresses, Background=background.Background)
    # The two servers print at the same time.
    of_each = [[line for line in printed if line.startswith(f"server {n}")] for n in (1, 2)]
    assert of_each == [
        ["server 1: running no-op...", "server 1: no-op run!"],
        [
            "server 2: 3 seconds left before connecting...",
            "server 2: 2 seconds left before connecting...",
            "server 2: 1 seconds left before connecting...",
            "server 2: connected!",
        ],
    ]
    assert len(printed) == 6
    assert printed.index("server 1: no-op run!") > 3


@pytest.mark.e2e
def test_a_server_leaves_and_comes_back(start: Callable[..., transcripts.Script]) -> None:
    program = """
        cluster = tf.train.ClusterSpec(spec)
        server1 = tf.train.Server(cluster, job_name="local", task_index=0)
        with tf.device("/job:local/task:0"):
            no_op = tf.no_op()
        with tf.device("/job:local/task:1"):
            remote_no_op = tf.no_op()
        sess1 = tf.Session(server1.target)

        def run(op):
            print("Server 1: about to run no-op...", end="")
            sess1.run(op)
            print("success!")

        run(no_op)
        run(remote_no_op)
        leave()
        print("Server 2 dieing...")
        for _ in range(4):
            run(no_op)
        blocked = Background(lambda: run(remote_no_op))
        print("Restarting server 2...")
        come_back()
        try:
            try:
                blocked.join()
            except tf.errors.UnavailableError:  # the machine is so slow that the wait ended
                sess1.run(remote_no_op)
        except tf.errors.AbortedError as error:
            print(error.message)
        server1.stop()
    """
    spec = clusters.spec(local=2)
    server_two = start(SERVER_TWO, json.dumps(spec))
    assert server_two.read() == ["server 2: connected!"]

    def come_back() -> None:
        assert start(SERVER_TWO, json.dumps(spec)).read() == ["server 2: connected!"]

    printed = transcripts.printed(
        program,
        spec=spec,
        leave=server_two.kill,
        come_back=come_back,
        Background=background.Background,
    )
    success = "Server 1: about to run no-op...success!"
    *runs, error, begun = printed
    assert runs == [
        *[success] * 2,
        "Server 2 dieing...",
        *[success] * 4,
        "Restarting server 2...",
    ]
    assert re.match("Graph handle is not found: [0-9a-f]{16}", error)
    assert begun == "Server 1: about to run no-op..."


@pytest.mark.e2e
def test_a_server_waits_until_another_server_has_initialised_its_variables() -> None:
    program = """
        cluster = tf.train.ClusterSpec({"local": addresses})

        def s1():
            server1 = tf.train.Server(cluster, job_name="local", task_index=0)
            with tf.Graph().as_default():
                var = tf.Variable(0.0, name='var')
                missing = tf.report_uninitialized_variables()
                sess1 = tf.Session(server1.target)
                print("Server 1: waiting for connection...")
                sess1.run(missing)
                while len(sess1.run(missing)) > 0:
                    if not waits.is_set():
                        print("Server 1: waiting for initialization...")
                    waits.set()
                print("Server 1: variables initialized!")
            return server1

        def s2():
            server2 = tf.train.Server(cluster, job_name="local", task_index=1)
            var = tf.Variable(0.0, name='var')
            sess2 = tf.Session(server2.target)
            for i in range(3):
                print("Server 2: waiting %d seconds before initializing..." % (3 - i))
            waits.wait()
            sess2.run(tf.global_variables_initializer())
            return server2

        first = Background(s1)
        server2 = s2()
        first.join()
        first.result.stop()
        server2.stop()
    """
    printed = transcripts.printed(
        program,
        addresses=clusters.addresses(2),
        Background=background.Background,
        waits=threading.Event(),
    )
    of_each = [[line for line in printed if line.startswith(f"Server {n}")] for n in (1, 2)]
    assert of_each == [
        [
            "Server 1: waiting for connection...",
            "Server 1: waiting for initialization...",
            "Server 1: variables initialized!",
        ],
        [f"Server 2: waiting {seconds} seconds before initializing..." for seconds in (3, 2, 1)],
    ]


@pytest.mark.e2e
def test_a_parameter_server_counts_what_two_workers_add(
    start: Callable[..., transcripts.Script],
) -> None:
    parameter_server = """
        with tf.device("/job:ps/task:0"):
            var = tf.Variable(0.0, name='var')
        server = tf.train.Server(cluster, job_name="ps", task_index=0)
        sess = tf.Session(target=server.target)
        print("Parameter server: waiting for cluster connection...")
        sess.run(tf.report_uninitialized_variables())
        print("Parameter server: cluster ready!")
        input()
        print("Parameter server: initializing variables...")
        sess.run(tf.global_variables_initializer())
        print("Parameter server: variables initialized")
        for i in range(2):
            val = sess.run(var)
            print("Parameter server: var has value %.1f" % val)
            input()
        print("Parameter server: blocking...")
        server.join()
    """
    worker = """
        with tf.device("/job:ps/task:0"):
            var = tf.Variable(0.0, name='var')
        worker_n = int(sys.argv[2])
        server = tf.train.Server(cluster, job_name="worker", task_index=worker_n)
        sess = tf.Session(target=server.target)
        print("Worker %d: waiting for cluster connection..." % worker_n)
        sess.run(tf.report_uninitialized_variables())
        print("Worker %d: cluster ready!" % worker_n)
        while sess.run(tf.report_uninitialized_variables()):
            print("Worker %d: waiting for variable initialization..." % worker_n)
            time.sleep(0.1)
        print("Worker %d: variables initialized" % worker_n)
        input()
        for i in range(5):
            print("Worker %d: incrementing var" % worker_n)
            sess.run(var.assign_add(1.0))
        print("Worker %d: blocking..." % worker_n)
        server.join()
    """
    spec = json.dumps(clusters.spec(worker=2, ps=1))
    ps = start(parameter_server, spec)
    workers = [start(worker, spec, index) for index in range(2)]
    assert ps.read(2) == transcripts.lines("""
        Parameter server: waiting for cluster connection...
        Parameter server: cluster ready!
    """)
    for index, each in enumerate(workers):
        assert each.read(3) == [
            f"Worker {index}: waiting for cluster connection...",
            f"Worker {index}: cluster ready!",
            f"Worker {index}: waiting for variable initialization...",
        ]
    ps.go()
    assert ps.read(3) == transcripts.lines("""
        Parameter server: initializing variables...
        Parameter server: variables initialized
        Parameter server: var has value 0.0
    """)
    for index, each in enumerate(workers):
        each.go()
        lines = each.read(7)
        if "waiting" in lines[0]:  # a line that repeats the one read above
            lines = [*lines[1:], *each.read()]
        assert lines == [
            f"Worker {index}: variables initialized",
            *[f"Worker {index}: incrementing var"] * 5,
            f"Worker {index}: blocking...",
        ]
    ps.go()
    assert ps.read() == ["Parameter server: var has value 10.0"]
    ps.go()
    assert ps.read() == ["Parameter server: blocking..."]
