"""Certificate authorities and what they sign.

Each control plane has an authority of its own, and so has etcd, so that a credential of one opens nothing of another.
Keys are on the curve P-256: made in a millisecond, accepted by every Kubernetes component. Authorities and server
certificates live in files; client certificates for people and for ourselves are made when asked for.
"""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.api.kubeconfigs import ClientCertificate
from mooring.controlplane.errors import StateError
from mooring.controlplane.files import REMEDY, read_private, write_private

AUTHORITY_LIFETIME = datetime.timedelta(days=3650)
COMPONENT_LIFETIME = datetime.timedelta(days=365)
# Renewed at a start when less than this is left: a landscape may then run that long without one.
COMPONENT_MARGIN = datetime.timedelta(days=180)
# Clocks of one machine can be set back a little between two starts.
_BACKDATED = datetime.timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority, its key included."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, name: str, *hosts: str) -> ClientCertificate:
        """A serving certificate that is also good as a client's, because etcd dials itself with it."""
        alternatives = x509.SubjectAlternativeName([_host(host) for host in hosts])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._sign(_subject(name), usages, COMPONENT_LIFETIME, alternatives)

    def client(
        self, user: str | None, *groups: str, lifetime: datetime.timedelta = COMPONENT_LIFETIME
    ) -> ClientCertificate:
        """A client certificate for a user and groups; ``None`` is a bearer without a name."""
        return self._sign(_subject(user, *groups), [ExtendedKeyUsageOID.CLIENT_AUTH], lifetime)

    def _sign(
        self,
        subject: x509.Name,
        usages: list[x509.ObjectIdentifier],
        lifetime: datetime.timedelta,
        *extensions: x509.ExtensionType,
    ) -> ClientCertificate:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, self.certificate.subject, key.public_key(), lifetime)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return ClientCertificate(certificate=certificate.public_bytes(serialization.Encoding.PEM), key=private_pem(key))


def ensure_authority(directory: Path, name: str) -> Authority:
    """The authority whose files are in the directory, made on the first call."""
    certificate_file, key_file = directory / "ca.crt", directory / "ca.key"
    # The certificate is written last: where it exists, its key does too.
    if certificate_file.exists():
        return load_authority(directory)
    authority = _new_authority(name)
    write_private(key_file, private_pem(authority.key))
    write_private(certificate_file, authority.pem)
    return authority


def load_authority(directory: Path) -> Authority:
    """The authority whose files are in the directory; for those who only look, and must not make one."""
    certificate_file, key_file = directory / "ca.crt", directory / "ca.key"
    certificate = _load_certificate(certificate_file)
    try:
        key = serialization.load_pem_private_key(read_private(key_file), password=None)
    except ValueError as error:
        raise StateError(_damaged(key_file)) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise StateError(_damaged(key_file))
    return Authority(certificate, key)


def ensure_server(authority: Authority, directory: Path, name: str, *hosts: str) -> None:
    """``NAME.crt`` and ``NAME.key`` in the directory, issued anew when they are damaged or about to run out."""
    certificate_file, key_file = directory / f"{name}.crt", directory / f"{name}.key"
    if not _is_fresh(authority, certificate_file, key_file):
        _write_pair(certificate_file, key_file, authority.server(name, *hosts))


def ensure_client(authority: Authority, directory: Path, name: str, user: str | None, *groups: str) -> None:
    """The same for a client certificate."""
    certificate_file, key_file = directory / f"{name}.crt", directory / f"{name}.key"
    if not _is_fresh(authority, certificate_file, key_file):
        _write_pair(certificate_file, key_file, authority.client(user, *groups))


def ensure_signing_key(path: Path) -> None:
    """A private key to sign service-account tokens with."""
    if not path.exists():
        write_private(path, private_pem(ec.generate_private_key(ec.SECP256R1())))


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    # The form that says "EC" in its first line: Kubernetes finds the public half of a signing key in no other.
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _write_pair(certificate_file: Path, key_file: Path, issued: ClientCertificate) -> None:
    # The old certificate goes first, so that a crash in between never leaves one beside a key that is not its own.
    certificate_file.unlink(missing_ok=True)
    write_private(key_file, issued.key)
    write_private(certificate_file, issued.certificate)


def _is_fresh(authority: Authority, certificate_file: Path, key_file: Path) -> bool:
    """Whether the pair is whole, of this authority, and good for long enough; everything else can be issued again."""
    if not certificate_file.exists() or not key_file.exists():
        return False
    try:
        certificate = _load_certificate(certificate_file)
        certificate.verify_directly_issued_by(authority.certificate)
        key = serialization.load_pem_private_key(read_private(key_file), password=None)
    except (StateError, InvalidSignature, ValueError, TypeError):
        return False
    is_pair = key.public_key() == certificate.public_key()
    return is_pair and certificate.not_valid_after_utc - _now() > COMPONENT_MARGIN


def _load_certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(read_private(path))
    except ValueError as error:
        raise StateError(_damaged(path)) from error


def _damaged(path: Path) -> str:
    return f"The file {path} does not hold what belongs there. {REMEDY}"


def _new_authority(name: str) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _subject(name)
    certificate = (
        _builder(subject, subject, key.public_key(), AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: datetime.timedelta
) -> x509.CertificateBuilder:
    now = _now()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + lifetime)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(user: str | None, *groups: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    if user is not None:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
    return x509.Name(attributes)


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
