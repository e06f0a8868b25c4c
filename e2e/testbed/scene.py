"""Namespaces with operators of their own, each behind a proxy, for stories that run in parallel."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from testbed import proxy
from testbed.control import Cluster
from testbed.keeper import Lives, kept
from testbed.kubelet import Kubelet
from testbed.operator import Operator
from testbed.proxy import Proxy
from testbed.shell import users_environment
from testbed.story import Story


@dataclass
class Scene:
    """A namespace and its operators. Only one thread may use a scene, because an operator ends with
    the thread that started it.
    """

    cluster: Cluster
    kubelet: Kubelet
    namespace: str
    folder: pathlib.Path
    seed: int
    ending: contextlib.ExitStack
    """The clean-up at the end of the scene."""
    operators: list[Operator] = field(default_factory=list)
    proxies: list[Proxy] = field(default_factory=list)

    def start(self, *flags: str) -> Operator:
        """Start one more operator behind a proxy of its own. Returns at once."""
        number = len(self.operators)
        seed = self.seed + number
        own_proxy = self.ending.enter_context(
            proxy.running(self.cluster.server, self.cluster.ca, seed)
        )
        kubeconfig = own_proxy.kubeconfig(
            self.cluster.kubeconfig, self.folder / f"{self.namespace}-{number}.kubeconfig"
        )
        log = self.folder / f"{self.namespace}-{number}.log"
        all_flags = (f"--namespace={self.namespace}", *flags)
        operator = Operator(kubeconfig, log, all_flags, users_environment())
        self.ending.callback(operator.kill)
        self.operators.append(operator)
        self.proxies.append(own_proxy)
        return operator

    def keep(self, operator: Operator) -> Lives:
        """Restart this operator whenever it ends, until the scene ends."""
        return self.ending.enter_context(kept(operator))

    def story(self, operator: Operator) -> Story:
        """Return the story of this namespace with this operator."""
        return Story(self.cluster, self.kubelet, operator, self.namespace)


@dataclass(frozen=True)
class Scenes:
    """A factory of scenes in one cluster. Threads may share it."""

    cluster: Cluster
    kubelet: Kubelet
    folder: pathlib.Path
    seed: int

    @contextlib.contextmanager
    def open(self) -> Iterator[Scene]:
        """Open a scene. At its end the operators are killed and the namespace is deleted.

        An error of the block also shows the logs of the operators.
        """
        namespace = self.cluster.namespace()
        with contextlib.ExitStack() as ending:
            ending.callback(self.cluster.api.delete, f"/api/v1/namespaces/{namespace}")
            scene = Scene(self.cluster, self.kubelet, namespace, self.folder, self.seed, ending)
            try:
                yield scene
            except Exception as error:
                for operator in scene.operators:
                    error.add_note(operator.tail())
                raise


def side_by_side(parts: Mapping[str, Callable[[], object]], at_once: int) -> None:
    """Run these functions in threads, `at_once` of them at a time. Returns after the last.

    Raises an ExceptionGroup that names the failed functions and contains their errors.
    """
    with ThreadPoolExecutor(at_once) as pool:
        futures = {name: pool.submit(part) for name, part in parts.items()}
    failed = {name: error for name, future in futures.items() if (error := future.exception())}
    for name, error in failed.items():
        error.add_note(f"failed: {name}")
    if failed:
        raise BaseExceptionGroup(f"failed: {', '.join(failed)}", list(failed.values()))
