"""The fence of a checkpoint folder: a chief that was replaced writes no more checkpoints.

A task that is restarted on another node may still run on a lost node. If parameter servers run on
that node too, they still serve the old chief, and both chiefs reach the same checkpoint folder.
The new chief therefore claims the folder before it restores a checkpoint, and the old chief checks
its claim before it saves.
"""

import secrets
from typing import Self

from capstan import errors
from capstan.core import devices
from capstan.resources import durable, file_names, files
from capstan.services import identity
from capstan.transport import fence


class CheckpointFence:
    """The claim of this process to save checkpoints in a folder. Thread-safe.

    The file `.capstan-fence-worker-0` in the folder names the process that has claimed the folder
    last, among all processes that run or ran as `worker-0`.
    """

    def __init__(self, folder: str, caller: fence.Caller) -> None:
        """Claim nothing yet."""
        task = devices.parse(caller.task)
        self._path = file_names.joined(folder, f".capstan-fence-{task.job}-{task.task}")
        self._task = caller.task
        # Attempts are counted from 1 again if a job is created again, so they cannot be compared.
        self._claim = f"attempt {caller.attempt} {secrets.token_hex(8)}\n"

    @classmethod
    def of_process(cls, folder: str) -> Self | None:
        """Claim a folder for this process, and return the claim. Blocks until it is on the disk.

        Return None if no launcher of a job started this process, because no other process then
        replaces it.

        Raises:
            OpError: the folder or the file cannot be written.
        """
        caller = identity.of_process()
        if caller is None:
            return None
        claim = cls(folder, caller)
        claim.take()
        return claim

    def take(self) -> None:
        """Write the claim to the folder, which ends the claims of other processes. Blocks."""
        durable.make_folder_of(self._path)
        with durable.replacing(self._path) as file:
            file.write(self._claim.encode())

    def check(self) -> None:
        """Return if no other process has claimed the folder since. Blocks until the file is read.

        A user may delete the file, which ends all claims and refuses nobody.

        Raises:
            FailedPreconditionError: another process has claimed the folder. It has replaced this
                process, which must end.
        """
        try:
            newest = files.read_all(self._path).decode()
        except errors.NotFoundError:
            return
        if newest != self._claim:
            mine, theirs = (" ".join(text.split()[:2]) for text in (self._claim, newest))
            raise errors.FailedPreconditionError(
                None,
                None,
                f"{mine.capitalize()} of {self._task} was replaced: {theirs} has claimed the "
                f"checkpoints in {file_names.folder_of(self._path)}. End this process",
            )
