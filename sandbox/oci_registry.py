# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""A registry in memory, as the OCI distribution specification describes it.

As a program, `python sandbox/oci_registry.py ADDRESS PORT [CERTIFICATE]` serves until it is
ended, over HTTPS with a PEM file of a certificate and its key.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import re
import ssl
import sys
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

_PATH = re.compile(
    r"/v2/(?P<name>.+?)/(?:blobs/uploads/(?P<upload>[\w-]*)|(?P<kind>blobs|manifests)/(?P<version>[^/]+))"
)
TOKEN = "t0k3n"


@dataclass
class Registry:
    """The content, and what happens to requests.

    ``credentials``: `user:password` that a token needs; anonymous without. ``blob_host``: another
    host that has the blobs. ``cut``: bytes after which the next answer with a larger blob breaks.
    ``busy``: the number of requests that get 503 first. ``lost``: the number of parts of uploads
    of which the half is stored before the connection breaks.
    """

    credentials: str = ""
    blob_host: str = ""
    cut: int = 0
    busy: int = 0
    lost: int = 0
    ranges: bool = True
    url: str = ""
    blobs: dict[tuple[str, str], bytes] = field(default_factory=dict)
    manifests: dict[tuple[str, str], tuple[str, bytes]] = field(default_factory=dict)
    uploads: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    def add_blob(self, name: str, content: bytes) -> str:
        """Store a blob; its digest."""
        digest = digest_of(content)
        self.blobs[name, digest] = content
        return digest

    def add_manifest(self, name: str, tag: str, document: dict[str, Any]) -> str:
        """Store a manifest with a tag; its digest."""
        content = json.dumps(document).encode()
        digest = digest_of(content)
        for version in filter(None, (tag, digest)):
            self.manifests[name, version] = (document["mediaType"], content)
        return digest

    def add_image(self, name: str, tag: str, *layers: bytes, config: bytes = b"{}") -> str:
        """Store an image of one platform; the digest of its manifest."""
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self._descriptor(name, "application/vnd.oci.image.config.v1+json", config),
            "layers": [
                self._descriptor(name, "application/vnd.oci.image.layer.v1.tar", layer)
                for layer in layers
            ],
        }
        return self.add_manifest(name, tag, manifest)

    def add_index(self, name: str, tag: str, *digests: str) -> str:
        """Store an index of manifests that the repository has."""
        manifests = [
            {
                "mediaType": self.manifests[name, digest][0],
                "digest": digest,
                "size": len(self.manifests[name, digest][1]),
                "platform": {"os": "linux", "architecture": f"a{number}"},
            }
            for number, digest in enumerate(digests)
        ]
        media_type = "application/vnd.oci.image.index.v1+json"
        document = {"schemaVersion": 2, "mediaType": media_type, "manifests": manifests}
        return self.add_manifest(name, tag, document)

    def _descriptor(self, name: str, media_type: str, content: bytes) -> dict[str, Any]:
        digest = self.add_blob(name, content)
        return {"mediaType": media_type, "digest": digest, "size": len(content)}

    def paths(self, method: str) -> list[str]:
        """The paths of the requests with a method."""
        return [path for given, path, _headers in self.requests if given == method]


def digest_of(content: bytes) -> str:
    """The digest of a content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def serve(
    registry: Registry,
    address: str = "127.0.0.1",
    port: int = 0,
    context: ssl.SSLContext | None = None,
) -> Any:
    """A server in a thread, over HTTPS with a context; `server_close` and `shutdown` end it."""
    handler = type("Handler", (_Handler,), {"store": registry})
    server = http.server.ThreadingHTTPServer((address, port), handler)
    server.daemon_threads = True
    registry.url = f"{'https' if context else 'http'}://{address}:{server.server_port}"
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    run = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    run.start()
    return server


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: Registry

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        registry, url = self.store, urlsplit(self.path)
        registry.requests.append((self.command, self.path, dict(self.headers)))
        if self.command == "PATCH" and registry.lost:
            registry.lost -= 1
            found = _PATH.fullmatch(url.path)
            registry.uploads[str(found and found["upload"])] += self.rfile.read(length // 2)
            self.close_connection = True
            self.connection.close()
            return
        content = self.rfile.read(length)
        if registry.busy:
            registry.busy -= 1
            self.answer(503)
        elif url.path == "/token":
            self.give_token()
        elif registry.credentials and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            realm = f'Bearer realm="{registry.url}/token",service="r"'
            self.answer(401, {"WWW-Authenticate": realm})
        else:
            self.serve_path(url.path, parse_qs(url.query), content)

    do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = handle_any  # noqa: N815

    def give_token(self) -> None:
        given = base64.b64encode(self.store.credentials.encode()).decode()
        if self.headers.get("Authorization") != f"Basic {given}":
            self.answer(401)
            return
        self.answer(200, {}, json.dumps({"token": TOKEN}).encode())

    def serve_path(self, path: str, query: dict[str, list[str]], content: bytes) -> None:
        found = _PATH.fullmatch(path)
        if path == "/v2/":
            self.answer(200, {}, b"{}")
        elif found is None:
            self.answer(404)
        elif found["kind"] == "manifests":
            self.serve_manifest(found["name"], found["version"], content)
        elif found["kind"] == "blobs":
            self.serve_blob(found["name"], found["version"])
        else:
            self.serve_upload(found["name"], found["upload"], query, content)

    def serve_manifest(self, name: str, version: str, content: bytes) -> None:
        registry = self.store
        if self.command == "PUT":
            if missing := self.find_missing(name, content):
                self.fail(400, "MANIFEST_BLOB_UNKNOWN", missing)
                return
            stored = (self.headers["Content-Type"], content)
            registry.manifests[name, version] = stored
            registry.manifests[name, digest_of(content)] = stored
            self.answer(201)
        elif (name, version) in registry.manifests:
            media_type, content = registry.manifests[name, version]
            self.answer(200, {"Content-Type": media_type}, content)
        else:
            self.fail(404, "MANIFEST_UNKNOWN")

    def find_missing(self, name: str, content: bytes) -> str:
        """A blob or manifest that a manifest refers to and the repository lacks."""
        document = json.loads(content)
        blobs = [*document.get("layers", []), *filter(None, [document.get("config")])]
        for item in blobs:
            if (name, item["digest"]) not in self.store.blobs:
                return str(item["digest"])
        for item in document.get("manifests", []):
            if (name, item["digest"]) not in self.store.manifests:
                return str(item["digest"])
        return ""

    def serve_blob(self, name: str, digest: str) -> None:
        registry = self.store
        content = registry.blobs.get((name, digest))
        if content is None:
            self.fail(404, "BLOB_UNKNOWN")
        elif registry.blob_host:
            self.answer(307, {"Location": f"{registry.blob_host}{self.path}"})
        else:
            given = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
            start = int(given[1]) if given and registry.ranges else 0
            last = len(content) - 1
            headers = {"Content-Range": f"bytes {start}-{last}/{len(content)}"} if start else {}
            self.answer(206 if start else 200, headers, content[start:])

    def serve_upload(
        self, name: str, upload: str, query: dict[str, list[str]], content: bytes
    ) -> None:
        registry = self.store
        if self.command == "POST":
            digest, source = (query.get(key, [""])[0] for key in ("mount", "from"))
            if (source, digest) in registry.blobs:
                registry.blobs[name, digest] = registry.blobs[source, digest]
                self.answer(201)
                return
            upload = f"u{len(registry.uploads)}"
            registry.uploads[upload] = b""
            self.answer(202, {"Location": f"/v2/{name}/blobs/uploads/{upload}?state=1"})
        elif self.command == "GET":
            last = len(registry.uploads[upload]) - 1
            self.answer(204, {"Range": f"0-{last}"} if last >= 0 else {})
        elif self.command == "PATCH":
            start = int(str(self.headers["Content-Range"]).partition("-")[0])
            if start != len(registry.uploads[upload]):
                self.answer(416)
                return
            registry.uploads[upload] += content
            self.answer(202, {"Location": f"/v2/{name}/blobs/uploads/{upload}?state=2"})
        else:
            digest, whole = query["digest"][0], registry.uploads.pop(upload) + content
            if digest != digest_of(whole):
                self.fail(400, "DIGEST_INVALID")
                return
            registry.blobs[name, digest] = whole
            self.answer(201)

    def fail(self, status: int, code: str, message: str = "") -> None:
        errors = [{"code": code, "message": message}]
        self.answer(status, {}, json.dumps({"errors": errors}).encode())

    def answer(
        self, status: int, headers: dict[str, str] | None = None, content: bytes = b""
    ) -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "HEAD":
            return
        registry = self.store
        if 0 < registry.cut < len(content) and "/blobs/" in self.path and status in (200, 206):
            content, registry.cut = content[: registry.cut], 0
            self.close_connection = True
        self.wfile.write(content)

    def log_message(self, *_args: Any) -> None:
        pass


def main(arguments: list[str]) -> None:
    """Serve until the end of the process."""
    address, port, *files = arguments
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if files else None
    if context:
        context.load_cert_chain(files[0])
    serve(Registry(), address, int(port), context)
    threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
