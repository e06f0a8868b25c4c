"""Tests of flags, `tf.app.run` and `tf.logging`, each with a script in its own process."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.e2e

SOURCES = pathlib.Path(__file__).parents[2] / "src"
FLAGS = """
    import sys
    import capstan as tf
    tf.app.flags.DEFINE_string("job", "ps", "The job.")
    tf.app.flags.DEFINE_integer("task_index", None, "The task.")
    tf.flags.DEFINE_float("rate", 0.5, "The rate.")
    tf.flags.DEFINE_boolean("sync", False, docstring="Synchronous?")
    tf.flags.DEFINE_enum("mode", "a", ["a", "b"], "The mode.")
    FLAGS = tf.app.flags.FLAGS
"""
SHOW = """
    def main(argv):
        print(FLAGS.job, FLAGS.task_index, FLAGS.rate, FLAGS.sync, FLAGS.mode, argv[1:])
    if __name__ == "__main__":
        tf.app.run()
"""


def run(folder: pathlib.Path, text: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    script = folder / "train.py"
    script.write_text("".join(map(textwrap.dedent, text.split("#+"))))
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments, printed",
    [
        ([], "ps None 0.5 False a []"),
        (["--job=w", "--task_index", "3", "--sync"], "w 3 0.5 True a []"),
        (["-rate=2", "--nosync", "x", "--mode=b"], "ps None 2.0 False b ['x']"),
        (["--unknown=1", "y"], "ps None 0.5 False a ['--unknown=1', 'y']"),
        (["--", "--job=w"], "ps None 0.5 False a ['--', '--job=w']"),
    ],
)
def test_flags_are_parsed_and_other_arguments_reach_main(
    tmp_path: pathlib.Path, arguments: list[str], printed: str
):
    done = run(tmp_path, FLAGS + "#+" + SHOW, *arguments)
    assert (done.returncode, done.stdout) == (0, printed + "\n"), done.stderr


@pytest.mark.parametrize(
    "argument, words",
    [
        ("--task_index=one", ["--task_index=one", "invalid literal for int"]),
        ("--rate=fast", ["--rate=fast"]),
        ("--mode=c", ["--mode=c", "a|b"]),
        ("--job", ["--job", "issing value"]),
        ("--sync=perhaps", ["--sync=perhaps"]),
    ],
)
def test_a_bad_flag_ends_the_program_with_status_two_and_one_line_that_names_it(
    tmp_path: pathlib.Path, argument: str, words: list[str]
):
    done = run(tmp_path, FLAGS + "#+" + SHOW, argument)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("train.py: ")
    for word in words:
        assert word in line


def test_a_missing_required_flag_is_named(tmp_path: pathlib.Path):
    required = 'tf.flags.mark_flag_as_required("task_index")\n'
    done = run(tmp_path, FLAGS + "#+" + required + "#+" + SHOW)
    assert done.returncode == 2
    assert "--task_index" in done.stderr.splitlines()[-1]


def test_a_misspelled_flag_causes_a_warning(tmp_path: pathlib.Path):
    done = run(tmp_path, FLAGS + "#+" + SHOW, "--task_indx=1")
    assert done.returncode == 0
    assert "there is no flag --task_indx" in done.stderr
    assert "Did you mean --task_index?" in done.stderr


def test_help_lists_the_flags_of_the_script(tmp_path: pathlib.Path):
    done = run(tmp_path, FLAGS + "#+" + SHOW, "--help")
    assert done.returncode == 0
    assert "usage: train.py [flags]" in done.stdout
    for text in ("--job", "The task.", "--rate", "--[no]sync", "<a|b>"):
        assert text in done.stdout


def test_flags_are_parsed_when_the_program_first_reads_one(tmp_path: pathlib.Path):
    at_once = 'print(FLAGS.job, "rate" in FLAGS)\nFLAGS.job = "x"\nprint(FLAGS.job)\n'
    done = run(tmp_path, FLAGS + "#+" + at_once, "--job=w", "-f", "kernel.json")
    assert (done.returncode, done.stdout) == (0, "w True\nx\n"), done.stderr


@pytest.mark.parametrize("result, status", [("None", 0), ("7", 7), ('"why"', 1), ("exit(3)", 3)])
def test_the_result_of_main_is_the_exit_status(tmp_path: pathlib.Path, result: str, status: int):
    text = f"import capstan as tf\ntf.app.run(main=lambda argv: {result}, argv=['train.py'])\n"
    assert run(tmp_path, text).returncode == status


def test_messages_have_a_level_and_a_source_line(tmp_path: pathlib.Path):
    text = """
        import capstan as tf
        tf.logging.info("silent")
        tf.logging.warn("heard %d", 1)
        tf.logging.set_verbosity(tf.logging.INFO)
        assert tf.logging.get_verbosity() == tf.logging.INFO
        tf.logging.info("heard %s", "two")
        tf.logging.log_if(tf.logging.ERROR, "heard three", True)
        tf.logging.log_if(tf.logging.ERROR, "silent", False)
        tf.logging.flush()
    """
    done = run(tmp_path, text)
    levels, places = [], []
    for line in done.stderr.splitlines():
        head, _, message = line.partition("] ")
        levels.append(head[0])
        places.append((head.split()[-1], message))
    assert levels == ["W", "I", "E"]
    assert places == [
        ("train.py:4", "heard 1"),
        ("train.py:7", "heard two"),
        ("train.py:8", "heard three"),
    ]


def test_the_handlers_of_the_root_logger_get_the_messages(tmp_path: pathlib.Path):
    text = """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, format="mine: %(message)s")
        import capstan as tf
        tf.logging.error("text")
    """
    done = run(tmp_path, text)
    assert (done.stdout, done.stderr) == ("mine: text\n", "")


def test_messages_of_the_level_of_the_root_logger_are_shown(tmp_path: pathlib.Path):
    text = """
        import logging, sys
        logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.INFO)
        import capstan as tf
        tf.logging.info("heard")
        assert tf.logging.get_verbosity() == tf.logging.INFO
        logging.getLogger().setLevel(logging.ERROR)
        tf.logging.warn("silent")
        tf.logging.set_verbosity(tf.logging.DEBUG)
        tf.logging.debug("heard, too")
    """
    done = run(tmp_path, text)
    assert done.stdout.splitlines() == ["heard", "heard, too"]
