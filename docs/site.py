"""The hook of MkDocs: adds the files outside docs/ to which pages link, and leads the links there.

A link from docs/tutorial.md to ../examples/digits/train.py works in a checkout. In the site it
leads to a copy of that file. MkDocs then checks these links like all others.
"""

import pathlib
import posixpath
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTSIDE = (
    *("CHANGELOG.md", "CONTRIBUTING.md", "examples/digits/README.md"),
    *(
        f"examples/digits/{name}"
        for name in ("evaluate.py", "job.yaml", "job-chief.yaml", "train.py")
    ),
)
"""The files outside docs/ that are part of the site."""

LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)#:]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the files of `OUTSIDE`, with their paths from the root of the repository."""
    for name in OUTSIDE:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead each link that leaves docs/, or comes from outside, to the file in the site. A link to
    a file that the site does not have becomes plain text.
    """
    source = page.file.src_uri
    folder = posixpath.dirname(source if source in OUTSIDE else f"docs/{source}")

    def changed(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["path"]))
        if not (ROOT / path).exists():
            return link[0]  # MkDocs reports it
        if path not in OUTSIDE and not path.startswith("docs/"):
            return link["text"]
        uri = path.removeprefix("docs/")
        relative = posixpath.relpath(uri, posixpath.dirname(source) or ".")
        return f"[{link['text']}]({relative}{link['anchor'] or ''})"

    return LINK.sub(changed, markdown)
