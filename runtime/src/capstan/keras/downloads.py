"""`tf.keras.utils.get_file`: files of the Web in a folder of this machine
(python/keras/utils/data_utils.py).
"""

import contextlib
import hashlib
import http.client
import os
import shutil
import tarfile
import tempfile
import urllib.request
import zipfile
from typing import Any

from capstan.keras.training import progress

_TAR = ("tar", "gz", "bz", "bz2", "xz")


def get_file(
    fname: Any,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: Any = "auto",
    cache_dir: Any = None,
) -> str:
    """Return the path of a file, which is downloaded from the URL `origin` if it is not there.

    The path is `cache_dir/cache_subdir/fname`. `cache_dir` is `~/.keras` by default, or
    `/tmp/.keras` if nobody may write there. A file whose `file_hash` differs is downloaded again.
    The hash is of MD5 or SHA-256, which its length tells. `untar` downloads `fname.tar.gz`, and
    unpacks it to `fname`. `extract` unpacks the file beside itself, as `archive_format` says:
    "tar", "zip", "auto" for both, or None. Blocks.

    Raises:
        OSError: the download failed. The message has the URL and the path.
        ValueError: the downloaded file has another hash.
    """
    folder = _folder(cache_dir, cache_subdir)
    path = os.path.join(folder, os.fspath(fname))
    archive = f"{path}.tar.gz" if untar else path
    wanted = file_hash or md5_hash
    algorithm = "md5" if file_hash is None and md5_hash is not None else hash_algorithm
    if not (untar and os.path.exists(path) and not os.path.exists(archive)):
        _bring(archive, origin, wanted, algorithm)
    if untar:
        if not os.path.exists(path):
            _unpack(archive, folder, ["tar"])
        return path
    if extract:
        formats = ["tar", "zip"] if archive_format == "auto" else archive_format or []
        _unpack(archive, folder, [formats] if isinstance(formats, str) else formats)
    return path


def _folder(cache_dir: Any, cache_subdir: str) -> str:
    home = os.path.expanduser("~/.keras") if cache_dir is None else os.path.expanduser(cache_dir)
    if cache_dir is None:
        with contextlib.suppress(OSError):
            os.makedirs(home, exist_ok=True)
        if not os.access(home, os.W_OK):
            home = os.path.join(tempfile.gettempdir(), ".keras")
    folder = os.path.join(home, cache_subdir)
    os.makedirs(folder, exist_ok=True)
    return folder


def _bring(path: str, origin: str, wanted: str | None, algorithm: str) -> None:
    """Download a file, unless it is there with the hash that is wanted."""
    if os.path.exists(path):
        if wanted is None or _hash(path, wanted, algorithm) == wanted:
            return
        progress.say(
            f"A local file was found, but it seems to be incomplete or outdated because the file "
            f"hash does not match the original value of {wanted} so we will re-download the data."
        )
    progress.say(f"Downloading data from {origin}")
    # The file appears only when it is complete.
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as part:
        try:
            with urllib.request.urlopen(origin) as source:
                shutil.copyfileobj(source, part)
            part.close()
            if wanted is not None and _hash(part.name, wanted, algorithm) != wanted:
                raise ValueError(
                    f"The file of {origin} does not have the hash {wanted}. Download it to {path}"
                )
            os.replace(part.name, path)
        except (OSError, http.client.HTTPException) as error:
            raise OSError(
                f"URL fetch failure on {origin}: {error}. Download the file by yourself to {path}"
            ) from error
        finally:
            if os.path.exists(part.name):
                os.remove(part.name)


def _hash(path: str, wanted: str, algorithm: str) -> str:
    is_long = algorithm == "sha256" or (algorithm == "auto" and len(wanted) == 64)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256" if is_long else "md5").hexdigest()


def _unpack(path: str, folder: str, formats: Any) -> None:
    """Unpack an archive of one of the formats. Other files stay as they are."""
    if any(each in _TAR for each in formats) and tarfile.is_tarfile(path):
        with tarfile.open(path) as tar:
            tar.extractall(folder, filter="data")
    elif "zip" in formats and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
