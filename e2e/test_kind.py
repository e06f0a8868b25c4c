"""kind accepts the configurations of `make e2e-kind`, and nothing of a cluster remains.

The container engine here is a script that starts no container, because this test must run where no
engine does. kind itself is real: it reads the configuration and asks the engine for the nodes.
"""

import pathlib
import re
from collections import Counter

import pytest

from testbed import kind, programs, tools

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

ENGINE = """\
#!/bin/sh
echo "$@" >>"$CALLS"
case "$1" in
  info) echo '{}' ;;
  run)
    # kind asks for all nodes at the same time, and asks no more after a refusal.
    tries=600
    while [ "$(grep -c '^run ' "$CALLS")" -lt "$NODES" ] && [ $((tries -= 1)) -gt 0 ]; do
      sleep 0.1
    done
    echo "this engine starts no container" >&2
    exit 1
    ;;
esac
"""
BROKEN = '#!/bin/sh\necho "no daemon for ${0##*/}" >&2\nexit 1\n'


@pytest.fixture
def path(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The first folder of PATH. The engines write their calls to the file `calls` in it."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    put(tmp_path, "kubectl", "#!/bin/sh\n")
    return tmp_path


def put(folder: pathlib.Path, name: str, script: str) -> None:
    program = folder / name
    program.write_text(script)
    program.chmod(0o755)


@pytest.mark.parametrize("gpus, workers", [(False, 2), (True, 3)])
def test_kind_reads_the_configuration_and_asks_for_its_nodes(
    path: pathlib.Path, gpus: bool, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        tools.program("kind")
    except programs.Unavailable as reason:
        pytest.skip(str(reason))
    put(path, "docker", ENGINE)
    monkeypatch.setenv("NODES", str(1 + workers))
    with pytest.raises(AssertionError, match="this engine starts no container"), kind.running(gpus):
        pass
    calls = (path / "calls").read_text()
    roles = re.findall(r"^run .*--label io\.x-k8s\.kind\.role=(\S+)", calls, re.MULTILINE)
    assert Counter(roles) == {"control-plane": 1, "worker": workers}
    # The last call looks for the nodes of this cluster, to remove them.
    [name] = set(re.findall(r"io\.x-k8s\.kind\.cluster=(\S+)", calls))
    assert calls.splitlines()[-1].startswith(f"ps -a --filter label=io.x-k8s.kind.cluster={name}")


def test_without_an_engine_the_reason_names_each_engine(path: pathlib.Path) -> None:
    for engine in ("docker", "podman"):
        put(path, engine, BROKEN)
    with pytest.raises(programs.Unavailable) as raised:
        kind.engine()
    assert "no daemon for docker" in str(raised.value)
    assert "no daemon for podman" in str(raised.value)
