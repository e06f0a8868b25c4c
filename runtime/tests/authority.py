"""A certificate authority for tests, which writes the folders that CAPSTAN_TLS_DIR names."""

import datetime as dt
import ipaddress
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_SINCE, _UNTIL = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2120, 1, 1, tzinfo=dt.UTC)


class Authority:
    """An authority with a key of its own."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        # A client that trusts two authorities of the same name may check with the wrong one.
        name = f"job {x509.random_serial_number():x}"[:64]
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._sign(
            self._name, self._key, x509.BasicConstraints(ca=True, path_length=0)
        )

    @property
    def certificate(self) -> bytes:
        """The certificate of the authority as PEM."""
        return _pem(self._certificate)

    def write(self, folder: pathlib.Path, *hosts: str) -> pathlib.Path:
        """Write a new certificate for 127.0.0.1 or for `hosts` into `folder`, and return it."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(host) for host in hosts]
        alternative = x509.SubjectAlternativeName(
            names or [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        )
        chain = self._sign(x509.Name([]), key, alternative)
        folder.mkdir(exist_ok=True)
        (folder / "ca.crt").write_bytes(self.certificate)
        (folder / "tls.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        fresh = folder / "tls.crt.new"
        fresh.write_bytes(_pem(chain))
        fresh.replace(folder / "tls.crt")
        return folder

    def _sign(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_SINCE)
            .not_valid_after(_UNTIL)
            .add_extension(extension, critical=True)
            .sign(self._key, hashes.SHA256())
        )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
