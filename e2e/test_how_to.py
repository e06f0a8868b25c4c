"""The objects that the pages in docs/how-to show."""

import pathlib
import re

import pytest

from conftest import ROOT
from testbed.control import Cluster

BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)


def objects(page: pathlib.Path) -> list[str]:
    """Return the YAML blocks of a page that are whole objects and not parts of one."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [block for block in blocks if block.startswith("apiVersion:")]


PAGES = [page for page in sorted(ROOT.glob("docs/how-to/*.md")) if objects(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_api_server_accepts_each_object_of_a_page(cluster: Cluster, page: pathlib.Path) -> None:
    for shown in objects(page):
        ran = cluster.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f-", input=shown, check=False
        )
        assert ran.returncode == 0, f"{shown}\n{ran.stderr}"
