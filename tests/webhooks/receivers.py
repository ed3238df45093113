"""Receivers of webhooks on sockets of 127.0.0.1, well-behaved and hostile ones."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Request:
    line: str
    # Names in lower case.
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Peer:
    """The receiver's end of one connection."""

    sock: socket.socket
    receiver: "Receiver"
    # The number of the connection, counted from 1
    number: int
    _pending: bytes = b""

    def request(self) -> Request | None:
        """The next request, kept in `receiver.requests`; None where the sender hung up."""
        while b"\r\n\r\n" not in self._pending:
            if not self._more():
                return None
        head, _, self._pending = self._pending.partition(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in fields)}
        length = int(headers.get("content-length", 0))
        while len(self._pending) < length:
            if not self._more():
                return None
        body, self._pending = self._pending[:length], self._pending[length:]
        request = Request(line, headers, body)
        self.receiver.requests.append(request)
        return request

    def _more(self) -> bool:
        data = self.sock.recv(65_536)
        self._pending += data
        return bool(data)

    def answer(self, status: int = 200, body: bytes = b"ok", **headers: str) -> None:
        headers.setdefault("Content_Length", str(len(body)))
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{name.replace('_', '-')}: {headers[name]}" for name in headers)]
        self.sock.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def trickle(self, data: bytes, seconds: float) -> None:
        """One byte after another, with so long a pause between them, until the sender has enough."""
        for position in range(len(data)):
            self.sock.sendall(data[position : position + 1])
            if self.receiver.is_over.wait(seconds):
                return

    def reset(self) -> None:
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


@dataclass
class Receiver:
    port: int
    scheme: str
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    # The connections whose script has not ended: these may still send requests.
    open_connections: int = 0
    # The test is over: release the waiting threads.
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return self.at("127.0.0.1")

    def at(self, host: str, path: str = "/hook") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


Script = Callable[[Peer], None]


@contextmanager
def receiver(
    script: Script, tls: ssl.SSLContext | None = None, address: tuple[str, int] = ("127.0.0.1", 0)
) -> Generator[Receiver]:
    """A server that runs the script for each connection, in a thread, and closes it after that."""
    listener = socket.create_server(address)
    running = Receiver(listener.getsockname()[1], "https" if tls else "http")
    threads: list[threading.Thread] = []
    open_sockets: dict[int, socket.socket] = {}
    lock = threading.Lock()

    def serve(sock: socket.socket, number: int) -> None:
        try:
            with suppress(OSError), tls.wrap_socket(sock, server_side=True) if tls else sock as opened:
                opened.settimeout(100)
                with lock:
                    open_sockets[number] = opened
                script(Peer(opened, running, number))
        finally:
            with lock:
                open_sockets.pop(number, None)
                running.open_connections -= 1
            sock.close()

    def accept() -> None:
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            if running.is_over.is_set():
                sock.close()
                return
            running.connections += 1
            with lock:
                running.open_connections += 1
            thread = threading.Thread(target=serve, args=(sock, running.connections), daemon=True)
            threads.append(thread)
            thread.start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield running
    finally:
        running.is_over.set()
        # Wakes accept(), which closing alone does not.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        with lock:
            for sock in open_sockets.values():
                with suppress(OSError):
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in [accepting, *threads]:
            thread.join(2)


def answers(*statuses: int, body: bytes = b"ok", **headers: str) -> Script:
    """One status after another, over all connections; the last one from then on."""
    left = list(statuses)
    lock = threading.Lock()

    def script(peer: Peer) -> None:
        while peer.request():
            with lock:
                status = left.pop(0) if len(left) > 1 else left[0]
            peer.answer(status, body, **headers)

    return script


def always(status: int = 200, body: bytes = b"ok", **headers: str) -> Script:
    """Gives each request the same answer."""
    return answers(status, body=body, **headers)


def silent(peer: Peer) -> None:
    """Reads the request, and never answers."""
    peer.request()
    peer.receiver.is_over.wait(100)


def says(answer: bytes) -> Script:
    """Answers one request with exactly these bytes, and hangs up."""

    def script(peer: Peer) -> None:
        peer.request()
        peer.sock.sendall(answer)

    return script


@contextmanager
def full_backlog() -> Generator[int]:
    """The port of a listener that takes no further connection: connecting to it hangs."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        for _ in range(4):
            sock = socket.socket()
            sock.setblocking(False)
            with suppress(BlockingIOError):
                sock.connect(listener.getsockname())
            waiting.append(sock)
        time.sleep(0.05)
        yield listener.getsockname()[1]
        for sock in waiting:
            sock.close()


# Certificates


@lru_cache(maxsize=1)
def _authority() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority of the tests")])
    return _certificate(name, key.public_key(), name, key, x509.BasicConstraints(ca=True, path_length=0)), key


def _certificate(
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public_key)
    builder = builder.serial_number(x509.random_serial_number())
    # Python 3.13 refuses a certificate without identifiers of its keys, and an authority that may not sign.
    issuers_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    for each in (extension, x509.SubjectKeyIdentifier.from_public_key(public_key), issuers_key):
        builder = builder.add_extension(each, critical=isinstance(each, x509.BasicConstraints))
    if isinstance(extension, x509.BasicConstraints):
        uses = dict.fromkeys(
            ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"), False
        )
        uses |= dict.fromkeys(("key_agreement", "crl_sign", "encipher_only", "decipher_only"), False)
        builder = builder.add_extension(x509.KeyUsage(key_cert_sign=True, **uses), critical=True)
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    return builder.sign(issuer_key, hashes.SHA256())


def authorities(folder: Path) -> str:
    """A PEM file with the authority that signs the certificates of these receivers."""
    path = folder / "authority.pem"
    path.write_bytes(_authority()[0].public_bytes(serialization.Encoding.PEM))
    return str(path)


def tls_for(folder: Path, host: str) -> ssl.SSLContext:
    """TLS of a server with a certificate for this name or address."""
    authority, authority_key = _authority()
    key = ec.generate_private_key(ec.SECP256R1())
    is_address = host.replace(".", "").isdecimal()
    name: x509.GeneralName = x509.IPAddress(ip_address(host)) if is_address else x509.DNSName(host)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    alternatives = x509.SubjectAlternativeName([name])
    certificate = _certificate(subject, key.public_key(), authority.subject, authority_key, alternatives)
    path = folder / f"{host}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
