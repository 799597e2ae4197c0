# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Reads and writes of registries, against one in memory."""

from __future__ import annotations

import hashlib
import json

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http import registry_client as module
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_auth import RegistryError
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_client import (
    Access,
    Manifest,
    RegistryClient,
    TransientError,
    check_digest,
    digest_of,
)
from oci_registry import TOKEN, Registry, serve

USER = "me:s3cr3t"
BLOB = bytes(range(256)) * 40

pytestmark = pytest.mark.usefixtures("no_surroundings")


@pytest.fixture
def start():
    """Start a registry; the registry and a client of it."""
    servers = []

    def run(credentials="", **faults):
        registry = Registry(credentials=credentials, **faults)
        servers.append(serve(registry))
        host = registry.url.removeprefix("http://")
        access = Access(lambda given: credentials if given == host else "", plain={host})
        return registry, RegistryClient(host, access, sleep=lambda _seconds: None)

    yield run
    for server in servers:
        server.shutdown()
        server.server_close()


def read(client, digest, offset=0):
    with client.read_blob("a", digest, offset) as (start, pieces):
        return start, b"".join(pieces)


def part_of(content):
    return lambda offset, length: iter([content[offset : offset + length]])


@pytest.mark.parametrize("credentials", ["", USER])
def test_read_manifest(start, credentials):
    registry, client = start(credentials)
    digest = registry.add_image("a", "1", b"layer")
    for version in ("1", digest):
        manifest = client.read_manifest("a", version)
        assert (manifest.digest, digest_of(manifest.content)) == (digest, digest)
        assert manifest.media_type == "application/vnd.oci.image.manifest.v1+json"
    assert registry.paths("GET").count("/token?scope=repository%3Aa%3Apull&service=r") == bool(
        credentials
    )


def test_read_manifest_missing(start):
    _registry, client = start()
    with pytest.raises(RegistryError, match=r"^HTTP 404: MANIFEST_UNKNOWN$"):
        client.read_manifest("a", "1")


def test_read_manifest_of_another_digest(start):
    registry, client = start()
    registry.add_image("a", "1", b"layer")
    wanted = digest_of(b"other")
    registry.manifests["a", wanted] = registry.manifests["a", "1"]
    with pytest.raises(RegistryError, match="does not match sha256"):
        client.read_manifest("a", wanted)


def test_read_manifest_too_large(start, monkeypatch):
    registry, client = start()
    registry.add_image("a", "1", b"layer")
    monkeypatch.setattr(module, "MANIFEST_LIMIT", 100)
    with pytest.raises(RegistryError, match="larger than 100 bytes"):
        client.read_manifest("a", "1")


def test_read_manifest_repeats_while_busy(start):
    registry, client = start(busy=2)
    registry.add_image("a", "1", b"layer")
    assert client.read_manifest("a", "1").content
    registry.busy = 3
    with pytest.raises(TransientError, match="HTTP 503"):
        client.read_manifest("a", "1")


@pytest.mark.parametrize("credentials", ["", USER])
def test_read_blob_from_offset(start, credentials):
    registry, client = start(credentials)
    digest = registry.add_blob("a", BLOB)
    assert read(client, digest) == (0, BLOB)
    assert read(client, digest, 1000) == (1000, BLOB[1000:])
    registry.ranges = False
    assert read(client, digest, 1000) == (0, BLOB)


def test_read_blob_redirect_without_credentials(start):
    registry, client = start(USER)
    other, _client = start()
    digest = registry.add_blob("a", BLOB)
    other.add_blob("a", BLOB)
    registry.blob_host = other.url
    with pytest.raises(RegistryError, match="is only allowed over https"):
        read(client, digest)
    assert other.requests == []
    access = client._access
    client._access = Access(
        access.find_credentials, plain={*access.plain, other.url.removeprefix("http://")}
    )
    assert read(client, digest, 5) == (5, BLOB[5:])
    _method, _path, headers = other.requests[0]
    assert "Authorization" not in headers
    assert headers["Range"] == "bytes=5-"


def test_read_blob_breaks(start):
    registry, client = start(cut=100)
    digest = registry.add_blob("a", BLOB)
    pieces = []
    with pytest.raises(TransientError), client.read_blob("a", digest, 0) as (_start, found):
        pieces += found
    assert len(b"".join(pieces)) <= 100


@pytest.mark.parametrize("size", [0, 1, 100, 250])
def test_write_blob_in_parts(start, monkeypatch, size):
    monkeypatch.setattr(module, "CHUNK", 100)
    registry, client = start(USER)
    content = BLOB[:size]
    digest = digest_of(content)
    assert client.has_blob("a", digest) is False
    assert client.write_blob("a", digest, size, part_of(content)) is True
    assert registry.blobs["a", digest] == content
    assert len(registry.paths("PATCH")) == -(-size // 100)
    assert client.has_blob("a", digest) is True


def test_write_blob_goes_on_after_broken_part(start, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 100)
    registry, client = start(lost=2)
    content = BLOB[:250]
    client.write_blob("a", digest_of(content), 250, part_of(content))
    assert registry.blobs["a", digest_of(content)] == content
    starts = [
        headers["Content-Range"] for method, _path, headers in registry.requests
        if method == "PATCH"
    ]  # fmt: skip
    assert starts == ["0-99", "50-149", "100-199", "200-249"]


def test_write_blob_mounts(start):
    registry, client = start()
    digest = registry.add_blob("other", BLOB)
    assert client.write_blob("a", digest, len(BLOB), part_of(BLOB), other="other") is False
    assert registry.blobs["a", digest] == BLOB
    assert registry.paths("PATCH") == []
    assert client.write_blob("b", digest, len(BLOB), part_of(BLOB), other="none") is True


def test_write_blob_of_another_digest(start):
    _registry, client = start()
    with pytest.raises(RegistryError, match="HTTP 400: DIGEST_INVALID"):
        client.write_blob("a", digest_of(b"x"), 5, part_of(BLOB))


def test_write_manifest(start):
    registry, client = start(USER)
    config = registry.add_blob("a", b"{}")
    document = {"config": {"digest": config, "size": 2}, "layers": []}
    content = json.dumps(document).encode()
    manifest = Manifest("application/vnd.oci.image.manifest.v1+json", digest_of(content), content)
    client.write_manifest("a", "1", manifest)
    assert registry.manifests["a", "1"] == (manifest.media_type, content)
    assert client.has_manifest("a", manifest.digest) is True
    assert client.has_manifest("b", manifest.digest) is False
    with pytest.raises(RegistryError, match="HTTP 400: MANIFEST_BLOB_UNKNOWN"):
        client.write_manifest("b", "1", manifest)


def test_authorize_without_credentials(start):
    registry, client = start(USER)
    client._access = Access(plain=client._access.plain)
    with pytest.raises(RegistryError, match="HTTP 401 from its token service") as caught:
        client.read_manifest("a", "1")
    assert "s3cr3t" not in str(caught.value)
    assert not [head for _method, _path, head in registry.requests if TOKEN in str(head)]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://h.example/v2/", "only allowed over https"),
        ("https://me:pw@h.example/v2/", "contains a user name"),
        ("https://h.example/v2/a b", "not plain ASCII"),
        ("https://2130706433/v2/", "not a host name"),
        ("file:///etc/passwd", "no host"),
        ("https://h.example:99999/", "[Pp]ort"),
    ],
)
def test_check_refuses(url, why):
    with pytest.raises(RegistryError, match=why):
        RegistryClient("h.example", Access())._check(url)


def test_make_context_of_authority(tls):
    authority = tls.pem(tls.authority[0]).decode()
    context = Access(authorities=[authority]).make_context()
    subjects = [dict(part[0] for part in item["subject"]) for item in context.get_ca_certs()]
    assert {"commonName": "authority"} in subjects
    with pytest.raises(RegistryError, match="not valid PEM"):
        Access(authorities=["text"]).make_context()


def test_read_manifest_untrusted_certificate(serve_https):
    port, seen = serve_https("127.0.0.1")
    pauses = []
    client = RegistryClient(f"127.0.0.1:{port}", Access(), sleep=pauses.append)
    with pytest.raises(RegistryError, match="the certificate is not valid"):
        client.read_manifest("a", "1")
    assert (seen, pauses) == ([], [])


def test_read_manifest_trusted_certificate(serve_https, tls):
    port, seen = serve_https("127.0.0.1")
    access = Access(authorities=[tls.pem(tls.authority[0]).decode()])
    assert RegistryClient(f"127.0.0.1:{port}", access).read_manifest("a", "1").content == b"{}"
    assert len(seen) == 1


@pytest.mark.parametrize("value", ["sha256:12", "sha512:" + "0" * 128, "../x", 5, None])
def test_check_digest_refuses(value):
    with pytest.raises(RegistryError, match="is not a digest"):
        check_digest(value)


def test_digest_of():
    assert digest_of(b"x") == f"sha256:{hashlib.sha256(b'x').hexdigest()}"
    assert check_digest(digest_of(b"x")) == digest_of(b"x")
