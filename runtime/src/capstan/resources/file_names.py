"""Names of files: paths of this machine, and URLs such as `s3://bucket/folder/file`.

`os.path` takes a URL for a relative path. The functions of this module know both kinds of names.
"""

import os
import re
from typing import Final

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def scheme(name: str) -> str:
    """Return the scheme of a name in lower case. A name without a scheme has `file`.

    >>> scheme("S3://bucket/a"), scheme("/tmp/a")
    ('s3', 'file')
    """
    match = _SCHEME.match(name)
    return "file" if match is None else match[1].lower()


def is_url(name: str) -> bool:
    """Return whether a name begins with a scheme."""
    return _SCHEME.match(name) is not None


def local_path(name: str) -> str | None:
    """Return the path of a file of this machine. Return None for a file of a store.

    >>> local_path("file:///tmp/a"), local_path("tmp/a"), local_path("gs://bucket/a")
    ('/tmp/a', 'tmp/a', None)
    """
    if scheme(name) != "file":
        return None
    return name[len("file://") :] if is_url(name) else name


def is_absolute(name: str) -> bool:
    """Return whether a name means the same file in every working folder."""
    return is_url(name) or os.path.isabs(name)


def joined(folder: str, name: str) -> str:
    """Return the name of a file in a folder. An absolute `name` stays as it is.

    >>> joined("s3://bucket", "a"), joined("/tmp", "s3://bucket/a")
    ('s3://bucket/a', 's3://bucket/a')
    """
    return name if is_absolute(name) else os.path.join(folder, name)


def folder_of(name: str) -> str:
    """Return the folder of a file, or an empty string if the name has none.

    >>> folder_of("memory://a"), folder_of("s3://bucket/a/b"), folder_of("/tmp/a"), folder_of("a")
    ('memory://', 's3://bucket/a', '/tmp', '')
    """
    if not is_url(name):
        return os.path.dirname(name)
    start, _, rest = name.partition("://")
    return f"{start}://{rest.rpartition('/')[0]}"


def relative(name: str, folder: str) -> str:
    """Return a name as seen from a folder.

    A file that is not in the folder keeps its full name if the file or the folder is a URL.

    >>> relative("gs://bucket/run/model-1", "gs://bucket/run"), relative("/a/b", "/a")
    ('model-1', 'b')
    >>> relative("gs://bucket/model-1", "gs://bucket/run")
    'gs://bucket/model-1'
    """
    if is_url(name) or is_url(folder):
        start = folder if folder.endswith("/") else f"{folder}/"
        return name.removeprefix(start)
    return os.path.relpath(name, folder)
