"""The authorities of one job: one that signs and, while it is replaced, another one.

The Secret has the certificates of all of them, and the keys of those that sign now or next:

    stage        certificates       keys
    Alone        signer             signer
    Introduced   signer, next       signer, next
    Promoted     signer, old        signer
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from capstan_operator.app.authority import Authority, Pair
from capstan_operator.reconcile.policies.authority import Stage, Step

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Authorities:
    """The authorities that the tasks of a job trust. At most one of `next` and `old` is set."""

    signer: Authority
    next: Authority | None = None
    old: bytes = b""
    """The certificate of the authority that signed before."""

    @classmethod
    def make(cls, now: datetime) -> Self:
        """Return a new authority, which is alone."""
        return cls(Authority.make(now))

    @classmethod
    def load(cls, pair: Pair) -> Self:
        """Return the authorities of a Secret. Raises ValueError if they cannot be used."""
        chains, keys = _blocks(pair.chain), _blocks(pair.key)
        match len(chains), len(keys):
            case 1, 1:
                return cls(Authority.load(pair))
            case 2, 2:
                signer, following = (
                    Authority.load(Pair(chain, key))
                    for chain, key in zip(chains, keys, strict=True)
                )
                return cls(signer, next=following)
            case 2, 1:
                return cls(Authority.load(Pair(chains[0], keys[0])), old=chains[1])
            case _:
                raise ValueError(f"there are {len(chains)} certificates and {len(keys)} keys")

    @property
    def stage(self) -> Stage:
        if self.next is not None:
            return Stage.INTRODUCED
        return Stage.PROMOTED if self.old else Stage.ALONE

    @property
    def trusted(self) -> bytes:
        """The certificates of all authorities as PEM, which tasks and clients trust."""
        following = b"" if self.next is None else self.next.chain
        return self.signer.chain + following + self.old

    @property
    def pair(self) -> Pair:
        """The content of the Secret."""
        following = b"" if self.next is None else self.next.pair.key
        return Pair(self.trusted, self.signer.pair.key + following)

    def after(self, step: Step, now: datetime) -> "Authorities":
        """Return the authorities after a step of `policies.authority`."""
        if step is Step.INTRODUCE:
            return Authorities(self.signer, next=Authority.make(now))
        if step is Step.PROMOTE and self.next is not None:
            return Authorities(self.next, old=self.signer.chain)
        if step is Step.FORGET:
            return Authorities(self.signer)
        return Authorities.make(now)


def _blocks(text: bytes) -> list[bytes]:
    return [found.group() for found in _BLOCK.finditer(text)]
