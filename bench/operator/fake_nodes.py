"""`fake_nodes.py KUBECONFIG [ADDRESS]` runs the test bed's fake kubelet. It starts no containers.

With an address, all pods have this address.

The process ends when its standard input ends, so it never outlives the bench.
"""

import pathlib
import sys

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))

from testbed.api import Api
from testbed.kubelet import Json, Kubelet


def connect(kubeconfig: pathlib.Path) -> Api:
    """Return a client of the cluster that a kubeconfig of the test bed names."""
    config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    return Api(cluster["server"], pathlib.Path(cluster["certificate-authority"]), user["token"])


class OneAddress(Kubelet):
    """A kubelet whose pods all have the address `self.address`."""

    address = ""

    def run(self, pod: Json | str) -> None:
        self.run_at(pod, self.address)


def main() -> None:
    kubeconfig, *address = sys.argv[1:]
    api = connect(pathlib.Path(kubeconfig))
    kubelet = OneAddress(api) if address else Kubelet(api)
    if isinstance(kubelet, OneAddress):
        [kubelet.address] = address
    kubelet.start()
    print("ready", flush=True)
    sys.stdin.read()
    kubelet.close()
    for fault in kubelet.faults:
        print(fault, file=sys.stderr)


if __name__ == "__main__":
    main()
