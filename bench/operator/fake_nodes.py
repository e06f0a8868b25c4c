"""The test bed's kubelet that runs nothing, as a process of its own: `fake_nodes.py KUBECONFIG`.

Ends when its standard input does, so that it never outlives who measures.
"""

import pathlib
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

from testbed.api import Api
from testbed.kubelet import Kubelet


def connect(kubeconfig: pathlib.Path) -> Api:
    """Return a client of the cluster that a kubeconfig of the test bed names."""
    said = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = said["clusters"][0]["cluster"], said["users"][0]["user"]
    return Api(cluster["server"], pathlib.Path(cluster["certificate-authority"]), user["token"])


def main() -> None:
    kubelet = Kubelet(connect(pathlib.Path(sys.argv[1])))
    kubelet.start()
    print("ready", flush=True)
    sys.stdin.read()
    kubelet.close()
    for fault in kubelet.faults:
        print(fault, file=sys.stderr)


if __name__ == "__main__":
    main()
