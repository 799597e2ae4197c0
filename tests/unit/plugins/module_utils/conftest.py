# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Servers with certificates."""

from __future__ import annotations

import datetime
import http.server
import ssl
import threading
import types

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def issue(name, issuer=None, *, is_authority=False):
    """(certificate, key) for a DNS name; an authority if it has no issuer or ``is_authority``.

    Without key identifiers, as many private authorities issue them: RFC 5280 demands some.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    signer, signing_key = issuer or (None, key)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(is_authority or not issuer, None), critical=True)
        .sign(signing_key, hashes.SHA256())
    )
    return certificate, key


def pem(certificate, key=None):
    text = certificate.public_bytes(serialization.Encoding.PEM)
    if key:
        text += key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    return text


@pytest.fixture(scope="session")
def tls():
    """An authority, and how to issue and write certificates."""
    return types.SimpleNamespace(authority=issue("authority"), issue=issue, pem=pem)


@pytest.fixture
def serve_https(tmp_path, tls):
    """Serve HTTPS with a certificate for a name; returns its port and the requests' headers.

    ``respond``: status and headers of the answer to a path.
    """
    servers = []

    def start(
        name,
        issuer=tls.authority,
        newest=ssl.TLSVersion.MAXIMUM_SUPPORTED,
        respond=lambda path: (200, {}),
    ):
        file = tmp_path / f"{name}.pem"
        file.write_bytes(tls.pem(*tls.issue(name, issuer)))
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(dict(self.headers))
                status, headers = respond(self.path)
                self.send_response(status)
                self.send_header("Content-Length", "2")
                for key, value in headers.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = newest
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(file)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *args: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.server_address[1], seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
