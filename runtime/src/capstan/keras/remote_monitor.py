"""The callback that sends the values of each epoch to a server (python/keras/callbacks.py)."""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any

import numpy as np

from capstan.api import logging
from capstan.keras.training import callback


class RemoteMonitor(callback.Callback):
    """Sends the values of each epoch to a web server, by a POST to `root + path`.

    The values are JSON. They are the body with `send_as_json`, else the field `field` of a form. A
    server that cannot be reached is logged as a warning. Blocks until the server answers.
    """

    def __init__(
        self,
        root: str = "http://localhost:9000",
        path: str = "/publish/epoch/end/",
        field: str = "data",
        headers: Mapping[str, str] | None = None,
        send_as_json: bool = False,
    ) -> None:
        super().__init__()
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = headers, send_as_json

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        values = {"epoch": epoch, **{name: _plain(value) for name, value in (logs or {}).items()}}
        text = json.dumps(values)
        if self.send_as_json:
            body, kind = text, "application/json"
        else:
            body = urllib.parse.urlencode({self.field: text})
            kind = "application/x-www-form-urlencoded"
        request = urllib.request.Request(
            self.root + self.path, body.encode(), {"Content-Type": kind, **(self.headers or {})}
        )
        try:
            with urllib.request.urlopen(request):
                pass
        except urllib.error.HTTPError as error:
            error.close()  # As in Keras, only a server that cannot be reached is worth a warning.
        except OSError:
            logging.warning("Warning: could not reach RemoteMonitor root server at %s", self.root)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray | np.generic) else value
