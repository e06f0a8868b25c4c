"""`fake_nodes.py KUBECONFIG` runs the test bed's fake kubelet, which starts no containers.

The process ends when its standard input ends, so it never outlives the bench.
"""

import pathlib
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

from testbed.api import Api
from testbed.kubelet import Kubelet


def connect(kubeconfig: pathlib.Path) -> Api:
    """Return a client of the cluster that a kubeconfig of the test bed names."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
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
