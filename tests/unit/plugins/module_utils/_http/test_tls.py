# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""HTTPS to model servers: trusted certificates, and recipients of the token."""

from __future__ import annotations

import ssl

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http import tls as trust
from ansible_collections.nimops.nim.plugins.module_utils._http.model_server import fetch
from ansible_collections.nimops.nim.plugins.module_utils._http.tls import (
    authorization,
    is_in_cluster,
    make_context,
    unify_verification,
)

INSIDE = "https://llm-predictor.ns.svc.cluster.local:8443/v1/models"


@pytest.fixture
def mounted(tmp_path, monkeypatch, tls):
    """The files of a pod: the cluster's authority and a token for model servers."""
    monkeypatch.setattr(trust, "AUTHORITY", tmp_path / "ca.crt")
    monkeypatch.setenv("NIMOPS_MODEL_TOKEN", str(tmp_path / "token"))
    trust.AUTHORITY.write_bytes(tls.pem(tls.authority[0]))
    (tmp_path / "token").write_text("t0ken\n")


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
def test_is_in_cluster(url, inside):
    assert is_in_cluster(url, "ns") is inside
    assert is_in_cluster(url, "") is False


def test_is_in_cluster_escapes_namespace():
    assert not is_in_cluster("https://llm.nxs.svc/", "n.s")


def test_authorization_for_namespace_only(mounted):
    assert authorization(INSIDE, "ns") == {"Authorization": "Bearer t0ken"}
    assert authorization(INSIDE, "other") == {}
    assert authorization("https://example.com/", "ns") == {}
    assert authorization(INSIDE.replace("https", "http"), "ns") == {}


@pytest.mark.parametrize("missing", ["ca.crt", "token"])
def test_authorization_without_files(mounted, tmp_path, missing):
    (tmp_path / missing).unlink()
    assert authorization(INSIDE, "ns") == {}


def test_authorization_without_variable(mounted, monkeypatch):
    """Least of all the operator's own, which opens the cluster."""
    monkeypatch.delenv("NIMOPS_MODEL_TOKEN")
    assert authorization(INSIDE, "ns") == {}


def test_make_context_of_http_url():
    assert make_context("http://llm.ns.svc") is None


def test_make_context_minimum_version(mounted):
    context = make_context(INSIDE)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert [item["subject"] for item in context.get_ca_certs()] == [
        ((("commonName", "authority"),),)
    ], "no authority but the cluster's"


def test_fetch_with_token(mounted, serve_https, names):
    port, seen = serve_https("llm.ns.svc")
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found == {"status": 200, "body": "{}", "error": "", "late": False}
    assert [headers.get("Authorization") for headers in seen] == ["Bearer t0ken"]


def test_fetch_without_token(mounted, serve_https, names):
    port, seen = serve_https("llm.other.svc")
    assert fetch(f"https://llm.other.svc:{port}/v1/models", namespace="ns")["status"] == 200
    assert [headers.get("Authorization") for headers in seen] == [None]


@pytest.mark.parametrize(
    ("name", "is_trusted"),
    [
        pytest.param("llm.ns.svc", False, id="of another authority"),
        pytest.param("other.ns.svc", True, id="for another name"),
    ],
)
def test_fetch_wrong_name(mounted, serve_https, names, tls, name, is_trusted):
    issuer = {} if is_trusted else {"issuer": tls.issue("stranger")}
    port, seen = serve_https(name, **issuer)
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found["error"].startswith("the certificate is not valid")
    assert seen == []


def test_make_context_intermediate_authority(mounted, serve_https, names, tls):
    intermediate = tls.issue("intermediate", tls.authority, is_authority=True)
    trust.AUTHORITY.write_bytes(tls.pem(intermediate[0]))
    port, _seen = serve_https("llm.ns.svc", intermediate)
    assert fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")["error"] == ""


def test_unify_verification_on_each_python():
    strict = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    strict.verify_flags = ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_TRUSTED_FIRST
    assert unify_verification(strict).verify_flags == (
        ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_TRUSTED_FIRST
    )
    assert strict.verify_mode == ssl.CERT_REQUIRED


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_make_context_refuses_old_tls(mounted, serve_https, names):
    port, seen = serve_https("llm.ns.svc", newest=ssl.TLSVersion.TLSv1_1)
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found["error"].startswith("TLS failed")
    assert seen == []


def test_make_context_without_cluster_authority(mounted, serve_https, names):
    trust.AUTHORITY.unlink()
    port, seen = serve_https("llm.ns.svc")
    found = fetch(f"https://llm.ns.svc:{port}/v1/models", namespace="ns")
    assert found["error"].startswith("the certificate is not valid")
    assert seen == []


def test_make_context_invalid_authority(mounted):
    trust.AUTHORITY.write_text("garbage")
    found = fetch(INSIDE, namespace="ns")
    assert found["status"] == 0
    assert found["error"]
