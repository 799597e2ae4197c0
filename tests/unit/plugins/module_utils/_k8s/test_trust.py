# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""HTTPS to model servers: whose certificates count, and who is given a token."""

from __future__ import annotations

import datetime
import http.server
import ssl
import threading

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._k8s import trust
from ansible_collections.nimops.nim.plugins.module_utils._k8s.fetch import fetch
from ansible_collections.nimops.nim.plugins.module_utils._k8s.trust import (
    authorization,
    is_in_cluster,
    make_context,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

INSIDE = "https://llm-predictor.ns.svc.cluster.local:8443/v1/models"


def issue(name, issuer=None):
    """(certificate, key) for a DNS name, its own authority unless there is an issuer."""
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
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
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


@pytest.fixture(scope="module")
def authority():
    return issue("authority")


@pytest.fixture
def mounted(tmp_path, monkeypatch, authority):
    """The files of a pod: the cluster's authority and a token for model servers."""
    monkeypatch.setattr(trust, "AUTHORITY", tmp_path / "ca.crt")
    monkeypatch.setenv("NIMOPS_MODEL_TOKEN", str(tmp_path / "token"))
    trust.AUTHORITY.write_bytes(pem(authority[0]))
    (tmp_path / "token").write_text("t0ken\n")


@pytest.fixture
def serve(tmp_path, authority):
    """Serve HTTPS with a certificate for a name; returns its port and the requests' headers."""
    servers = []

    def start(name, issuer=authority, newest=ssl.TLSVersion.MAXIMUM_SUPPORTED):
        file = tmp_path / f"{name}.pem"
        file.write_bytes(pem(*issue(name, issuer)))
        seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(dict(self.headers))
                self.send_response(200)
                self.send_header("Content-Length", "2")
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


@pytest.fixture
def names(monkeypatch):
    """Every name is this machine's, as a cluster's DNS would have it for its Services."""
    import urllib3.util.connection

    connect = urllib3.util.connection.create_connection
    monkeypatch.setattr(
        urllib3.util.connection,
        "create_connection",
        lambda address, *args, **options: connect(("127.0.0.1", address[1]), *args, **options),
    )


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        (INSIDE, True),
        ("https://llm.ns.svc", True),
        ("https://llm.ns.svc/x", True),
        ("https://llm.ns.svc.cluster.local", True),
        ("http://llm.ns.svc/", False),
        ("https://llm.other.svc/", False),
        ("https://llm.xns.svc/", False),
        ("https://llm.ns.svc.example.com/", False),
        ("https://llm.ns.svc@example.com/", False),
        ("https://llm.ns.svc:443@example.com/", False),
        ("https://llm.ns.svc\\@example.com/", False),
        ("https://llm.ns.svc#@example.com/", False),
        ("https://llm.ns.svc?@example.com/", False),
        ("https://example.com/llm.ns.svc/", False),
        ("https://example.com\\.ns.svc/", False),
        ("https://ns.svc/", False),
        ("https://10.0.0.1/", False),
        ("https://llm.ns.svc\n/", False),
        ("", False),
    ],
)
def test_whose_urls_are_the_clusters_own(url, inside):
    assert is_in_cluster(url, "ns") is inside
    assert is_in_cluster(url, "") is False


def test_a_dot_in_a_namespace_means_a_dot():
    assert not is_in_cluster("https://llm.nxs.svc/", "n.s")


def test_the_token_goes_to_services_of_the_namespace_only(mounted):
    assert authorization(INSIDE, "ns") == {"Authorization": "Bearer t0ken"}
    assert authorization(INSIDE, "other") == {}
    assert authorization("https://example.com/", "ns") == {}
    assert authorization(INSIDE.replace("https", "http"), "ns") == {}


@pytest.mark.parametrize("missing", ["ca.crt", "token"])
def test_without_one_of_the_files_no_token_is_sent(mounted, tmp_path, missing):
    (tmp_path / missing).unlink()
    assert authorization(INSIDE, "ns") == {}


def test_no_token_is_sent_that_was_not_provided_for_it(mounted, monkeypatch):
    """Least of all the operator's own, which opens the cluster."""
    monkeypatch.delenv("NIMOPS_MODEL_TOKEN")
    assert authorization(INSIDE, "ns") == {}


def test_an_http_url_needs_no_context():
    assert make_context("http://llm.ns.svc") is None


def test_tls_is_new_enough(mounted):
    context = make_context(INSIDE)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert [item["subject"] for item in context.get_ca_certs()] == [
        ((("commonName", "authority"),),)
    ], "no authority but the cluster's"


def test_the_model_is_asked_with_the_token(mounted, serve, names):
    port, seen = serve("llm.ns.svc")
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found == {"status": 200, "body": "{}", "error": "", "late": False}
    assert [headers.get("Authorization") for headers in seen] == ["Bearer t0ken"]


def test_others_are_asked_without_it(mounted, serve, names):
    port, seen = serve("llm.other.svc")
    assert fetch(f"https://llm.other.svc:{port}/v1/models", namespace="ns")["status"] == 200
    assert [headers.get("Authorization") for headers in seen] == [None]


@pytest.mark.parametrize(
    ("name", "is_trusted"),
    [
        pytest.param("llm.ns.svc", False, id="of another authority"),
        pytest.param("other.ns.svc", True, id="for another name"),
    ],
)
def test_who_cannot_prove_its_name_gets_nothing(mounted, serve, names, name, is_trusted):
    issuer = {} if is_trusted else {"issuer": issue("stranger")}
    port, seen = serve(name, **issuer)
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found["error"].startswith("the certificate is not valid")
    assert seen == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_old_tls_is_refused(mounted, serve, names):
    port, seen = serve("llm.ns.svc", newest=ssl.TLSVersion.TLSv1_1)
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found["error"].startswith("TLS failed")
    assert seen == []


def test_without_the_clusters_authority_the_systems_count(mounted, serve, names):
    trust.AUTHORITY.unlink()
    port, seen = serve("llm.ns.svc")
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found["error"].startswith("the certificate is not valid")
    assert seen == []


def test_an_authority_that_is_none_is_told(mounted):
    trust.AUTHORITY.write_text("garbage")
    found = fetch(INSIDE, namespace="ns")
    assert found["status"] == 0
    assert found["error"]
