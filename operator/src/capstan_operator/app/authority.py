"""Make and read certificates. Only this module knows the library that signs them."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from capstan_operator.reconcile.policies import authority as authority_policy
from capstan_operator.reconcile.policies import certificates as policy
from capstan_operator.reconcile.policies.certificates import Facts

_SUBJECT = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "TrainingJob")])
_USAGES = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, both PEM. The key is never shown."""

    chain: bytes
    key: bytes = field(repr=False)


class Authority:
    """The authority of one job. It signs the certificates of the job's tasks."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self._certificate = certificate
        self._key = key

    @classmethod
    def make(cls, now: dt.datetime) -> Self:
        """Return a new authority with a new key."""
        key = ec.generate_private_key(ec.SECP256R1())
        until = now + authority_policy.LIFETIME
        builder = _builder(_SUBJECT, key, key, now - policy.SKEW, until)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        return cls(builder.add_extension(_signs(), True).sign(key, hashes.SHA256()), key)

    @classmethod
    def load(cls, pair: Pair) -> Self:
        """Return the authority of a Secret. Raises ValueError if the pair cannot be used."""
        key = serialization.load_pem_private_key(pair.key, None)
        certificate = x509.load_pem_x509_certificate(pair.chain)
        fits = isinstance(key, ec.EllipticCurvePrivateKey)
        if not fits or certificate.public_key() != key.public_key():
            raise ValueError("the certificate and the key do not fit together")
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return cls(certificate, key)

    @property
    def pair(self) -> Pair:
        return Pair(self.chain, _key_pem(self._key))

    @property
    def chain(self) -> bytes:
        """The certificate of the authority as PEM, which tasks and clients trust."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def since(self) -> dt.datetime:
        return self._certificate.not_valid_before_utc

    @property
    def until(self) -> dt.datetime:
        return self._certificate.not_valid_after_utc

    @property
    def fingerprint(self) -> bytes:
        return self._certificate.fingerprint(hashes.SHA256())

    def issue(self, names: Sequence[str], now: dt.datetime) -> Pair:
        """Return a new certificate for these DNS names, with a new key."""
        key = ec.generate_private_key(ec.SECP256R1())
        until = now + policy.LIFETIME
        alternative = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        builder = _builder(x509.Name([]), key, self._key, now - policy.SKEW, until)
        builder = builder.add_extension(alternative, True).add_extension(_USAGES, False)
        signed = builder.sign(self._key, hashes.SHA256())
        return Pair(signed.public_bytes(serialization.Encoding.PEM), _key_pem(key))

    def facts(self, pair: Pair, trusted: bytes) -> Facts | None:
        """Return what the files of a task say, or None if they cannot be used.

        `trusted` is the file with the authorities that the task trusts. A certificate that another
        authority has signed has no fingerprint.
        """
        try:
            key = serialization.load_pem_private_key(pair.key, None)
            found = x509.load_pem_x509_certificate(pair.chain)
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, x509.ExtensionNotFound):
            return None
        if found.public_key() != key.public_key():
            return None
        hosts = frozenset(names.get_values_for_type(x509.DNSName))
        signer = self.fingerprint if self._signed(found) else b""
        since, until = found.not_valid_before_utc, found.not_valid_after_utc
        return Facts(since, until, hosts, signer, trusted)

    def _signed(self, found: x509.Certificate) -> bool:
        try:
            found.verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


def _builder(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    since: dt.datetime,
    until: dt.datetime,
) -> x509.CertificateBuilder:
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(_SUBJECT)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(since)
        .not_valid_after(until)
        .add_extension(signed_by, False)
        .add_extension(own, False)
    )


def _signs() -> x509.KeyUsage:
    """Return the usage of a key that signs certificates and nothing else."""
    return x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
