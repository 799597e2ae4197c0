# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._commands.ask.servers import (
    RefusedError,
    UnreachableError,
    find_direct,
    find_proxy,
    parse_endpoint,
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        (" https://nim.example/v1/ ", "https://nim.example"),
        ("http://[::1]:8000/base/", "http://[::1]:8000/base"),
    ],
)
def test_parse_endpoint(url, expected):
    assert parse_endpoint(url).url == expected


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("127.0.0.1:8000", "is not a URL such as"),
        ("ftp://x", "is not a URL such as"),
        ("http://", "is not a URL such as"),
        ("http://x:99999", "is not a URL such as"),
        ("http://[x", "is not a URL such as"),
        ("http://x\x1b[2J", "is not a URL such as"),
        ("http://me:secret@x", "neither credentials nor a query"),
        ("http://x/?key=secret", "neither credentials nor a query"),
    ],
)
def test_parse_endpoint_invalid(url, text):
    with pytest.raises(NimError, match=text) as caught:
        parse_endpoint(url)
    assert "secret" not in str(caught.value)


def service(url):
    model = {"clusterEndpoint": url}
    metadata = {"name": "llm", "namespace": "nim", "uid": "uid-NIMService-llm"}
    return {"metadata": metadata, "status": {"model": model}}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", ("llm", 8000, "")),
        ("10.0.0.1:8000", ("llm", 8000, "")),
        ("10.0.0.2:8000", ("other", 9000, "")),
        ("http://llm-predictor.nim.svc.cluster.local", ("llm-predictor", 80, "")),
        ("https://llm-predictor.nim.svc:8443/x", ("llm-predictor", 8443, "https")),
    ],
)
def test_find_proxy(harness, url, expected):
    owners = {"ownerReferences": [{"controller": True, "uid": "uid-NIMService-llm"}]}
    ports = [{"name": "api", "port": 9000}]
    spec = {"clusterIP": "10.0.0.2", "ports": ports}
    harness.put("Service", "other", metadata=owners, spec=spec)
    harness.put("Service", "aaa-foreign", spec={"clusterIP": "10.0.0.2", "ports": ports})
    found = find_proxy(harness.client, service(url))
    assert (found.service, found.port, found.scheme) == expected


def test_find_proxy_of_knative(harness):
    """The Service in the URL leads to a gateway."""
    for number, kind in ((1, "Private"), (2, "Private"), (2, "Public")):
        name = f"llm-predictor-0000{number}{'-private' if kind == 'Private' else ''}"
        labels = {
            "serving.knative.dev/service": "llm-predictor",
            "networking.internal.knative.dev/serviceType": kind,
        }
        harness.put("Service", name, metadata={"labels": labels}, spec={})
    found = find_proxy(harness.client, service("https://llm-predictor.nim.svc:8443"))
    assert (found.service, found.port, found.scheme) == ("llm-predictor-00002-private", 80, "")
    assert "starts pods: set --endpoint" in found.remedy


@pytest.mark.parametrize(
    "url", ["http://llm.other.svc", "ftp://llm.nim.svc", "http://a%2f..%2fb.nim.svc", "http://[x"]
)
def test_find_proxy_foreign_url(harness, url):
    with pytest.raises(UnreachableError, match="KServe reports no Service of this namespace"):
        find_proxy(harness.client, service(url))


def test_find_proxy_without_service(harness):
    absent = service("")
    absent["metadata"]["uid"] = "another"
    with pytest.raises(UnreachableError, match="NIMService nim/llm has no Service with a port api"):
        find_proxy(harness.client, absent)


@pytest.mark.parametrize(
    ("url", "expected"),
    [("10.0.0.1:8000", "http://10.0.0.1:8000"), ("", None), ("http://u:p@x", None), ("\x1b", None)],
)
def test_find_direct(url, expected):
    found = find_direct(service(url))
    assert (found and found.url) == expected


PROXIED = {
    "no rights": (
        403,
        {"kind": "Status", "apiVersion": "v1", "message": "forbidden: \x1b[2Jno"},
        UnreachableError,
        "forbidden: [2Jno: a Role in the namespace nim must allow create on services/proxy",
    ),
    "no pods": (
        503,
        {"kind": "Status", "apiVersion": "v1", "message": "no endpoints available"},
        UnreachableError,
        "Service nim/llm cannot be reached through the API server: no endpoints available",
    ),
    "the model's own error": (
        403,
        {"error": "forbidden"},
        RefusedError,
        "/v1/x: HTTP status 403: forbidden: the model server denies access",
    ),
    "a long error": (500, "x" * (1 << 17), RefusedError, "/v1/x: HTTP status 500: xxx"),
}


@pytest.mark.parametrize(("status", "body", "kind", "text"), PROXIED.values(), ids=PROXIED)
def test_send_through_api_server(harness, nim, status, body, kind, text):
    nim.add("/v1/x", body, status)
    with pytest.raises(kind) as caught:
        find_proxy(harness.client, service("")).send("/v1/x", {"a": 1}, 5)
    assert text in str(caught.value)
    assert len(str(caught.value)) < 600
