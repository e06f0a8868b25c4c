"""Arguments that several commands of `capstanctl` share. Imports only the standard library."""

import argparse
import re
from collections.abc import Callable, Sequence

from capstan_operator.api import names
from capstan_operator.report import duration

WHERE = (
    "JOB is looked up in .capstan of the current directory first, and then in the cluster. With "
    "-n, --context or --kubeconfig it is looked up in the cluster only."
)
EXIT = "Exit status: 0 done, 2 wrong input, no such job, no cluster or no rights."

CLUSTER = ("-n", "--namespace", "--context", "--kubeconfig")
"""The flags that `cluster` adds. Each takes a value."""

_KINDS = ("tjob", "trainingjob", "trainingjobs")

_MOST_DIGITS = 18
"""The most digits of a number of lines. The API and Python read numbers of 64 bits."""


def file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="JOB.yaml", help="the TrainingJob; - reads standard input")


def job(command: argparse.ArgumentParser, *, optional: bool = False) -> None:
    command.add_argument(
        "job",
        nargs="?" if optional else None,
        type=_job_name,
        metavar="JOB",
        help="the name of the job",
    )


def _job_name(text: str) -> str:
    """Return the name of a job, which may have its kind before it, as in kubectl: `tjob/digits`.

    Raises argparse.ArgumentTypeError for an empty name, for example of a variable that is not set,
    and for a name that no job can have. A name such as `.` would change the path of a request.
    """
    kind, slash, name = text.partition("/")
    found = name if slash and kind.partition(".")[0] in _KINDS else text
    if not found:
        raise argparse.ArgumentTypeError("must not be empty")
    return _name(found, names.DNS_LABEL)


def namespace(text: str) -> str:
    """Return the name of a namespace. An empty name stands for the default, as in kubectl.

    Raises argparse.ArgumentTypeError for a name that no namespace can have.
    """
    return text and _name(text, names.NAMESPACE)


def _name(text: str, pattern: str) -> str:
    if len(text) > names.MAX_NAME or not re.fullmatch(pattern, text):
        raise argparse.ArgumentTypeError(
            f"must be a name of lowercase letters, digits and dashes, at most {names.MAX_NAME}"
            f" characters long, not {text!r}"
        )
    return text


def cluster(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-n",
        "--namespace",
        type=namespace,
        metavar="NAME",
        help="the namespace (default: the namespace of the context)",
    )
    command.add_argument("--context", metavar="NAME", help="the context of the kubeconfig")
    command.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="the kubeconfig (default: $KUBECONFIG, ~/.kube/config, the pod's service account)",
    )


def output(command: argparse.ArgumentParser, default: str | None = None) -> None:
    command.add_argument(
        "-o",
        "--output",
        choices=["json", "yaml"],
        default=default,
        help="print JSON or YAML" + (f" (default: {default})" if default else ""),
    )


def _checked(read: Callable[[str], float]) -> Callable[[str], float]:
    def checked(text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return checked


seconds = _checked(duration.parse)


def count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be a number of lines, not {text!r}")
    if len(text) > _MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"must have at most {_MOST_DIGITS} digits")
    return int(text)


def after_command(words: Sequence[str]) -> list[str]:
    """Move flags of a cluster that stand before the command behind it, where argparse reads them.

    kubectl takes these flags at both places.

    >>> after_command(["-n", "team-a", "--context=test", "explain", "digits"])
    ['explain', '-n', 'team-a', '--context=test', 'digits']
    """
    at = 0
    while at < len(words) and words[at].partition("=")[0] in CLUSTER:
        at += 1 if "=" in words[at] else 2
    return [*words[at : at + 1], *words[:at], *words[at + 1 :]] if at < len(words) else []
