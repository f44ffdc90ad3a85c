"""A call ends at its deadline whatever the endpoint does in the meantime. Each test would hang if it did not."""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from controller.backends import OpenAICompatible, deadline_http
from controller.reply import Fault, InfrastructureError
from tests.controller.backends.calls import a_request, complete, failure
from tests.stub_endpoint import Drip, Fail, Hang, Raw, Say, StubEndpoint

LONG = Say("x" * 5_000)


class EndlessHeaders(Raw):
    """Interim answers without end: each is a whole, valid header block."""

    def play(self, wire: Any) -> None:
        while True:
            wire.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            wire.wait(0.01)


@pytest.mark.parametrize(
    "behaviour",
    [Drip(LONG, "headers"), Drip(LONG, "body"), Hang(), Say(latency_s=60), EndlessHeaders(), Drip(Fail(400, b"x" * 5_000))],
    ids=["headers", "body", "hang", "slow", "interim", "error-body"],
)
def test_call_ends_at_deadline(behaviour: Any) -> None:
    with StubEndpoint([behaviour, Say("a second request")]) as stub:
        assert failure(stub, timeout_ms=500).fault is Fault.TIMEOUT
        assert stub.count == 1


def test_dripping_error_keeps_its_status() -> None:
    with StubEndpoint([Drip(Fail(429, b"x" * 5_000, retry_after="2"))]) as stub:
        error = failure(stub, timeout_ms=1_000)
    assert (error.fault, error.retry_after_ms) == (Fault.RATE_LIMIT, 2_000)


def test_slow_drip_within_deadline_succeeds() -> None:
    with StubEndpoint([Drip(Say("ok"), "headers", interval_s=0.0005)]) as stub:
        assert complete(stub, timeout_ms=20_000).text == "ok"


def test_late_call_does_not_shorten_next() -> None:
    """What was left of the last call's time must not stay on the pooled connection."""
    with StubEndpoint([Say("first"), Say("second", latency_s=1.3)]) as stub:
        backend = OpenAICompatible(stub.url, "stub")
        assert backend.complete(a_request(), 1_000).text == "first"
        assert backend.complete(a_request(), 20_000).text == "second"
    assert stub.connections == 1


def test_peer_that_never_reads_ends_at_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        backend = OpenAICompatible(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "stub")
        with pytest.raises(InfrastructureError) as caught:
            backend.complete(a_request("x" * 20_000_000), 600)
    assert caught.value.fault is Fault.TIMEOUT


def test_name_lookup_ends_at_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    release, real = threading.Event(), socket.getaddrinfo

    def stuck(host: str, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("flags"):
            return real(host, *args, **kwargs)
        release.wait(60)
        raise socket.gaierror("released")

    monkeypatch.setattr(deadline_http.socket, "getaddrinfo", stuck)
    try:
        with pytest.raises(InfrastructureError) as caught:
            OpenAICompatible("http://endpoint.invalid/v1", "stub").complete(a_request(), 100)
    finally:
        release.set()
    assert caught.value.fault is Fault.TIMEOUT


def test_second_address_is_tried() -> None:
    """A name with a dead address first, as a host with broken IPv6 has it."""
    with socket.socket() as unused, StubEndpoint([Say()]) as stub:
        unused.bind(("127.0.0.1", 0))
        dead, alive = unused.getsockname(), ("127.0.0.1", stub.port)
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", address) for address in (dead, alive)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(deadline_http, "_addresses", lambda *_: found)
            deadline_http.connect("two", 1, lambda: 5.0).close()


def test_tls_drip_ends_at_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, authority = _certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with StubEndpoint([Say("over TLS"), Drip(LONG, "headers"), Drip(LONG)], tls=server) as stub:
        assert complete(stub).text == "over TLS"
        assert failure(stub, timeout_ms=800).fault is Fault.TIMEOUT
        assert failure(stub, timeout_ms=800).fault is Fault.TIMEOUT
        assert stub.count == 3


def test_untrusted_certificate_is_configuration(tmp_path: Path) -> None:
    server, _ = _certificate(tmp_path)
    with StubEndpoint([Say()], tls=server) as stub:
        error = failure(stub)
    assert (error.fault, error.retryable, stub.count) == (Fault.CONFIGURATION, False, 0)


def test_silent_tls_peer_ends_at_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        backend = OpenAICompatible(f"https://127.0.0.1:{silent.getsockname()[1]}/v1", "stub")
        with pytest.raises(InfrastructureError) as caught:
            backend.complete(a_request(), 150)
    assert caught.value.fault is Fault.TIMEOUT


def _certificate(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A server's TLS context for 127.0.0.1, and the file that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "stub")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, both = folder / "ca.pem", folder / "server.pem"
    authority.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    both.write_bytes(secret + authority.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return context, authority
