# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import json
import os
import socket
import socketserver
import ssl
import struct
import tempfile
import threading
from pathlib import Path

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._engine.api_resources import api_path

SECRET = "s3cr3t-token"
POD = "/api/v1/namespaces/nim/pods/llm"


@pytest.fixture(autouse=True)
def temporary_files(no_surroundings, monkeypatch, tmp_path):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


@pytest.fixture
def client(cluster, tmp_path):
    return Client(cluster.kubeconfig(tmp_path, token=SECRET))


def refusal(call):
    with pytest.raises(ApiError) as caught:
        call()
    return caught.value


def test_get_returns_object_unchanged(client, cluster):
    pod = cluster.put(POD, {"metadata": {"name": "llm"}, "spec": {"x-odd": [1, None]}})
    assert client.get(POD) == pod
    assert cluster.server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"


def test_get_missing(client):
    assert client.get(POD) is None
    assert client.list_objects("/api/v1/namespaces/nim/pods") == []
    assert client.list_objects("/apis/x.example/v1/namespaces/nim/odds") is None


@pytest.mark.parametrize("name", ["a/b", "100%s", ".", "..", "../../pods"])
def test_get_invalid_name_without_request(client, cluster, name):
    """The runtime's proxy answers 500 to some, and returns the parent path for others."""
    cluster.put(POD, {"metadata": {"name": "llm"}})
    path = api_path("Pod", "nim", name)
    assert client.get(path) is None
    assert client.get_presence(path) is None
    assert refusal(lambda: client.delete(path)).status == 404
    assert "no object can have such a name" in str(refusal(lambda: client.patch(path, {})))
    assert cluster.server.requests == []


@pytest.mark.parametrize("name", ["...", "a.b", "a b", "{{ x }}"])
def test_get_unusual_name(client, cluster, name):
    assert client.get(api_path("Pod", "nim", name)) is None
    assert len(cluster.server.requests) == 1


def test_get_quotes_query(client, cluster):
    client.get("/api/v1/namespaces/nim/pods", fieldSelector="metadata.name=a&b")
    assert cluster.server.requests[-1].query == {"fieldSelector": "metadata.name=a&b"}


@pytest.mark.parametrize("code", [400, 401, 403, 409, 422, 429, 500, 503])
def test_error_has_message_of_api_server(client, cluster, refused, code):
    cluster.refuse["GET", POD] = [refused(code, f'pods "llm" said {code}')]
    error = refusal(lambda: client.get(POD))
    assert (error.status, str(error)) == (code, f'pods "llm" said {code}')


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        pytest.param(500, "the proxy broke\n", "HTTP 500: the proxy broke", id="plain text"),
        pytest.param(502, "", "HTTP 502", id="nothing"),
        pytest.param(500, {"error": 1}, 'HTTP 500: {"error": 1}', id="no Status"),
        pytest.param(500, "[1]", "HTTP 500: [1]", id="no object"),
        pytest.param(500, "x" * 9999, "HTTP 500: " + "x" * 300, id="long"),
        pytest.param(302, "", "HTTP 302", id="redirects are not followed"),
        pytest.param(200, "<html>", f"the API server's answer to GET {POD} is not JSON", id="HTML"),
        pytest.param(
            200,
            '{"a": ' + "[" * 200_000 + '"',
            f"the API server's answer to GET {POD} is not JSON",
            id="deep, and cut off",
        ),
        pytest.param(200, "[]", f"the API server's answer to GET {POD} is not JSON", id="list"),
    ],
)
def test_invalid_answers(client, cluster, answer, status, body, text):
    cluster.refuse["GET", POD] = [answer(status, body, {"Location": "http://127.0.0.1:1/"})]
    assert str(refusal(lambda: client.get(POD))) == text


def test_get_cuts_deep_nesting(client, cluster, answer):
    text = '{"kind": "NIMService", "spec": ' + '{"a":' * 100000 + "1" + "}" * 100001
    cluster.refuse["GET", POD] = [answer(200, text)]
    found = client.get(POD)
    assert found["kind"] == "NIMService"
    assert str(found).count("{") == 100


def test_list_metadata_all_pages(client, cluster, answer):
    def page(names, token):
        items = [{"metadata": {"name": name}, "kind": "PartialObjectMetadata"} for name in names]
        return answer(200, {"metadata": {"continue": token}, "items": items})

    cluster.refuse["GET", "/api/v1/nodes"] = [page("ab", "t&1"), page("c", ""), page("", "")]
    found = client.list_metadata("/api/v1/nodes")
    assert found == [{"metadata": {"name": name}} for name in "abc"]
    first, second = cluster.server.requests
    assert first.query == {"limit": "500"}
    assert second.query == {"limit": "500", "continue": "t&1"}
    assert "PartialObjectMetadataList" in first.headers["accept"]
    assert client.list_metadata("/api/v1/nodes") == []


def test_list_table_all_pages(client, cluster, answer):
    def page(names, token):
        rows = [{"cells": [name], "object": {"metadata": {"name": name}}} for name in names]
        found = {"metadata": {"continue": token}, "columnDefinitions": [{"name": "Name"}]}
        return answer(200, {**found, "rows": rows})

    cluster.refuse["GET", "/api/v1/nodes"] = [page("ab", "t&1"), page("c", "")]
    found = client.list_table("/api/v1/nodes")
    assert [row["cells"] for row in found["rows"]] == [["a"], ["b"], ["c"]]
    assert found["columnDefinitions"] == [{"name": "Name"}]
    first, second = cluster.server.requests
    assert second.query == {"limit": "500", "continue": "t&1"}
    assert first.headers["accept"] == "application/json;as=Table;g=meta.k8s.io;v=v1"


def test_get_presence_without_contents(client, cluster):
    """Nor do annotations: `kubectl apply` keeps a copy of all that it applied."""
    path = "/api/v1/namespaces/nim/secrets/s"
    held = {"metadata": {"name": "s", "annotations": {"a": "s3cr3t"}}, "data": {"k": "s3cr3t"}}
    cluster.put(path, held | {"kind": "Secret"})
    found = client.get_presence(path)
    assert "s3cr3t" not in json.dumps(found)
    assert found["metadata"]["name"] == "s"
    accepted = cluster.server.requests[-1].headers["accept"]
    assert "as=PartialObjectMetadata;" in accepted
    assert client.get_presence(f"{path}-not") is None


@pytest.mark.parametrize(
    ("status", "headers", "is_cached"),
    [
        pytest.param(200, {"X-Cache": "HIT"}, True, id="the runtime's cache"),
        pytest.param(200, {}, False, id="the API server"),
        pytest.param(404, {}, False, id="gone"),
        pytest.param(403, {}, False, id="forbidden"),
    ],
)
def test_is_cached(client, cluster, answer, status, headers, is_cached):
    cluster.refuse["GET", POD] = [answer(status, "{}", headers)]
    assert client.is_cached(POD) is is_cached


def test_is_cached_unknown(client, cluster, answer):
    cluster.refuse["GET", POD] = [answer(500, "{}")]
    assert refusal(lambda: client.is_cached(POD)).status == 500


def test_get_text_limit(client, cluster, answer):
    path = f"{POD}/log"
    cluster.refuse["GET", path] = [answer(200, "x" * 1_000_000), answer(200, b"\xff")]
    assert client.get_text(path, 10, container="main") == "x" * 10
    assert cluster.server.requests[-1].query == {"container": "main"}
    assert client.get_text(path, 10) == "\ufffd"
    assert client.get(POD) is None


def test_stream_any_status(client, cluster, answer):
    cluster.refuse["POST", f"{POD}/proxy/v1/x"] = [answer(503, "busy", {"Retry-After": "1"})]
    found = client.stream(f"{POD}/proxy/v1/x", {"a": 1}, seconds=5, limit=100)
    assert (found.status, found.read()) == (503, b"busy")
    (request,) = cluster.calls("POST")
    assert request.body == {"a": 1}
    assert request.headers["authorization"] == f"Bearer {SECRET}"


def test_stream_text(client, cluster):
    cluster.texts[f"{POD}/log"] = lambda request: request.query["follow"]
    assert client.stream_text(f"{POD}/log", follow="true").read() == b"true"


def test_stream_text_refused(client, cluster, refused):
    cluster.refuse["GET", f"{POD}/log"] = [refused(400, "container is waiting to start")]
    error = refusal(lambda: client.stream_text(f"{POD}/log"))
    assert (error.status, str(error)) == (400, "container is waiting to start")


def test_stream_unreachable(kubeconfig_text, tmp_path):
    path = tmp_path / "closed"
    path.write_text(kubeconfig_text("http://127.0.0.1:9"))
    error = refusal(lambda: Client(str(path)).stream("/version", seconds=5))
    assert (error.status, "cannot be reached: connection refused" in str(error)) == (0, True)


def test_patch_is_merge_patch(client, cluster):
    cluster.put(POD, {"metadata": {"name": "llm"}, "spec": {"a": 1, "b": 2}})
    assert client.patch(POD, {"metadata": {}, "spec": {"a": None}})["spec"] == {"b": 2}
    request = cluster.server.requests[-1]
    assert request.headers["content-type"] == "application/merge-patch+json"
    assert (request.method, request.query) == ("PATCH", {})


def test_apply_non_ascii(client, cluster):
    """YAML knows no surrogates, which JSON in ASCII is full of, nor bare control characters."""
    body = {"metadata": {"name": "llm", "annotations": {"a": "\U0001f600 \ud800\x7f\x85\ufeff"}}}
    client.apply(POD, body, "nimops.nim")
    sent = cluster.server.requests[-1]
    assert sent.body["metadata"]["annotations"] == {"a": "\U0001f600 ?\x7f\x85\ufeff"}
    text = (
        '{"metadata": {"name": "llm", "annotations": {"a": "\U0001f600 ?\\u007f\\u0085\\ufeff"}}}'
    )
    assert int(sent.headers["content-length"]) == len(text.encode())


def test_apply_forced_with_field_manager(client, cluster):
    client.apply(POD, {"metadata": {"name": "llm"}}, "nimops.nim")
    request = cluster.server.requests[-1]
    assert request.headers["content-type"] == "application/apply-patch+yaml"
    assert request.query == {"fieldManager": "nimops.nim", "force": "true"}
    assert request.body == {"metadata": {"name": "llm"}}


@pytest.mark.parametrize("breaks", [1, 2])
def test_broken_connection_is_retried_once(cluster, tmp_path, monkeypatch, breaks):
    respond, broken = cluster.server.respond, []

    def give_up(request):
        broken.append(request)
        if len(broken) <= breaks:
            raise ConnectionAbortedError
        return respond(request)

    monkeypatch.setattr(cluster.server, "respond", give_up)
    client = Client(cluster.kubeconfig(tmp_path))
    path = "/api/v1/namespaces/nim/configmaps/a"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    if breaks == 1:
        assert client.apply(path, body, "me")["metadata"]["name"] == "a"
    else:
        with pytest.raises(ApiError, match="cannot be reached: "):
            client.apply(path, body, "me")
    assert len(broken) == 2


def busy(answer, seconds="1", status=429):
    """The API server answers so while it changes the storage of a CRD, or limits its load."""
    body = {"kind": "Status", "message": "storage is (re)initializing", "code": status}
    return answer(status, body, {"Retry-After": seconds})


@pytest.fixture
def slept(monkeypatch):
    seconds = []
    monkeypatch.setattr("time.sleep", seconds.append)
    return seconds


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_repeats_request(client, cluster, answer, slept, status):
    cluster.put(POD, {"metadata": {"name": "llm"}})
    cluster.refuse["GET", POD] = [busy(answer, status=status), busy(answer, "9" * 5000, status)]
    assert client.get(POD)["metadata"]["name"] == "llm"
    assert slept == [1, 2]
    assert len(cluster.server.requests) == 3


def test_retry_after_is_limited(client, cluster, answer, slept):
    cluster.refuse["GET", POD] = [busy(answer)] * 20
    assert str(refusal(lambda: client.get(POD))) == "storage is (re)initializing"
    assert len(cluster.server.requests) == 6


@pytest.mark.parametrize("seconds", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "", "nan"])
def test_retry_after_invalid(client, cluster, answer, slept, seconds):
    cluster.refuse["GET", POD] = [busy(answer, seconds)]
    refusal(lambda: client.get(POD))
    assert slept == []


def test_evict_is_not_repeated(client, cluster, answer, slept):
    """Its Retry-After is about a PodDisruptionBudget; the next pass tries again."""
    cluster.refuse["POST", f"{POD}/eviction"] = [busy(answer, "10")]
    assert refusal(lambda: client.evict(POD, "llm", "nim")).status == 429
    assert slept == []


@pytest.fixture
def breaking(tmp_path, kubeconfig_text):
    """A server that closes each connection in the middle of the body: (client, received data)."""
    got = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            got.append(self.request.recv(1000))
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        path = tmp_path / "breaking"
        path.write_text(kubeconfig_text(f"http://127.0.0.1:{server.server_address[1]}"))
        yield Client(str(path)), got
        server.shutdown()


def test_large_body_is_not_repeated(breaking):
    """The API server may have refused the body by its size."""
    client, got = breaking
    path = "/apis/apps/v1/namespaces/nim/deployments/a"
    large = {"kind": "Deployment", "metadata": {"name": "a"}, "spec": "x" * 9_000_000}
    error = refusal(lambda: client.apply(path, large, "me"))
    assert error.status == 413
    assert str(error).startswith("the connection broke while 8.6 MiB were sent, which may be too")
    assert len(got) == 1
    error = refusal(lambda: client.apply(path, {**large, "spec": "x" * 200_000}, "me"))
    assert (error.status, len(got)) == (0, 3)


def test_unreachable_server(kubeconfig_text, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    path = tmp_path / "config"
    path.write_text(kubeconfig_text(url, token=SECRET))
    error = refusal(lambda: Client(str(path)).get(POD))
    assert error.status == 0
    assert str(error) == f"the API server {url} cannot be reached: connection refused"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="missing"),
        pytest.param("", id="empty"),
        pytest.param("{", id="no YAML"),
        pytest.param("[]", id="a list"),
        pytest.param("just text", id="text"),
        pytest.param("{}", id="without a context"),
        pytest.param("{current-context: x, contexts: [], clusters: [], users: []}", id="dangling"),
    ],
)
@pytest.mark.parametrize("where", ["argument", "K8S_AUTH_KUBECONFIG", "KUBECONFIG"])
def test_kubeconfig_unusable(tmp_path, monkeypatch, content, where):
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    if where != "argument":
        monkeypatch.setenv(where, str(path))
    error = refusal(lambda: Client(str(path) if where == "argument" else None).get(POD))
    assert error.status == 0
    assert str(error).startswith(f"no usable kubeconfig {path}: ")
    assert "Traceback" not in str(error)


def test_kubeconfig_precedence(cluster, tmp_path, monkeypatch):
    good = cluster.kubeconfig(tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG"):
        monkeypatch.setenv(name, good)
        assert Client().get(POD) is None
        monkeypatch.setenv(name, "/nowhere")
        assert Client(good).get(POD) is None


def test_kubeconfig_unknown_context(cluster, tmp_path):
    client = Client(cluster.kubeconfig(tmp_path), "elsewhere")
    assert "elsewhere" in str(refusal(lambda: client.get(POD)))


def test_kubeconfig_not_read_without_request():
    Client("/nowhere")


def test_source_of_same_kubeconfig(cluster, tmp_path):
    path = cluster.kubeconfig(tmp_path)
    one, other = Client(path), Client(path)
    assert one.source == other.source is not None
    assert one.source != Client(path, "another").source
    (tmp_path / "copy").write_bytes(Path(path).read_bytes())
    assert one.source != Client(str(tmp_path / "copy")).source
    assert Client(str(tmp_path / "nowhere")).source is None


def test_source_differs_per_process(cluster, tmp_path, monkeypatch):
    path = cluster.kubeconfig(tmp_path)
    here = Client(path).source
    monkeypatch.setattr(os, "getpid", lambda: 0)
    assert Client(path).source != here


def test_source_in_pod_is_none(cluster, tmp_path, monkeypatch):
    """Credentials of a pod are renewed, and a kubeconfig in the home folder is not used."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_bytes(Path(cluster.kubeconfig(tmp_path)).read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Client().source is not None
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert Client().source is None


def test_kubeconfig_merge(cluster, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    whole = json.loads(Path(cluster.kubeconfig(tmp_path, token=SECRET)).read_text())
    for name, keys in (("config", {"users", "contexts"}), ("other/config", {"clusters"})):
        part = {key: value for key, value in whole.items() if key not in keys}
        (tmp_path / name).write_text(json.dumps(part))
    monkeypatch.setenv(
        "KUBECONFIG", os.pathsep.join([f"{tmp_path}/config", f"{tmp_path}/other/config"])
    )
    assert Client().get(POD) is None
    assert cluster.server.requests[-1].headers["authorization"] == f"Bearer {SECRET}"


def test_one_connection_for_all_requests(client, cluster):
    cluster.put(POD, {"metadata": {"name": "llm"}})
    for _index in range(3):
        client.get(POD)
        client.get(f"{POD}-absent")
        client.patch(POD, {"metadata": {}})
    assert cluster.server.connections == 1


def test_basic_authentication(cluster, tmp_path):
    Client(cluster.kubeconfig(tmp_path, username="owner", password="unused")).get(POD)
    assert cluster.server.requests[-1].headers["authorization"].startswith("Basic ")


def test_kubeconfig_is_not_written(cluster, tmp_path):
    path = Path(cluster.kubeconfig(tmp_path, token=SECRET))
    before = path.read_bytes()
    Client(str(path)).get(POD)
    assert path.read_bytes() == before


@pytest.fixture
def secure(cluster, tmp_path, tls):
    """(kubeconfig as data, PEM of another key) of the fake cluster behind TLS with client certificates."""
    pems = {"authority": tls.pem(tls.authority[0])}
    for name in ("127.0.0.1", "client"):
        certificate, key = tls.issue(name, tls.authority)
        pems[name] = tls.pem(certificate, key)
        pems[f"{name}.crt"] = tls.pem(certificate)
        pems[f"{name}.key"] = pems[name].removeprefix(pems[f"{name}.crt"])
    for name, text in pems.items():
        (tmp_path / name).write_bytes(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "127.0.0.1")
    context.load_verify_locations(tmp_path / "authority")
    context.verify_mode = ssl.CERT_REQUIRED
    inner = cluster.server._server
    inner.socket = context.wrap_socket(inner.socket, server_side=True)
    data = {name: base64.b64encode(text).decode() for name, text in pems.items()}
    user = {"client-certificate-data": data["client.crt"], "client-key-data": data["client.key"]}
    config = json.loads(Path(cluster.kubeconfig(tmp_path, **user)).read_text())
    config["clusters"][0]["cluster"] = {
        "server": cluster.server.url.replace("http:", "https:"),
        "certificate-authority-data": data["authority"],
    }
    return config, data["127.0.0.1.key"]


def connect(config, tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    return Client(str(path))


def test_inline_certificates_leave_no_file(secure, cluster, tmp_path):
    client = connect(secure[0], tmp_path)
    cluster.put(POD, {"metadata": {"name": "llm"}})
    assert client.get(POD)["metadata"]["name"] == "llm"
    assert os.listdir(tempfile.gettempdir()) == []
    assert client.get(POD)["metadata"]["name"] == "llm"


def test_certificate_files(secure, cluster, tmp_path):
    config = secure[0]
    config["users"][0]["user"] = {"client-certificate": "client.crt", "client-key": "client.key"}
    config["clusters"][0]["cluster"]["certificate-authority"] = "authority"
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    assert connect(config, tmp_path).get(POD) is None
    assert (tmp_path / "client.key").exists()


def test_untrusted_server_is_refused(secure, cluster, tmp_path):
    config = secure[0]
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    error = refusal(lambda: connect(config, tmp_path).get(POD))
    assert "cannot be reached: the certificate is not valid: " in str(error)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_verification_disabled(secure, cluster, tmp_path):
    config = secure[0]
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    config["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    assert connect(config, tmp_path).get(POD) is None


def test_wrong_key_error_hides_key(secure, cluster, tmp_path):
    config, other = secure
    config["users"][0]["user"]["client-key-data"] = other
    error = refusal(lambda: connect(config, tmp_path).get(POD))
    assert str(error).startswith(f"no usable kubeconfig {tmp_path}/kubeconfig: ")
    assert other[:20] not in str(error)
    assert "PRIVATE KEY" not in str(error)
    assert os.listdir(tempfile.gettempdir()) == []


def test_reserved_keys_are_removed(cluster, tmp_path):
    path = "/api/v1/namespaces/nim/configmaps/c"
    data = {"a": "__ansible_unsafe", "__ansible_unsafe": "x"}
    cluster.put(path, {"metadata": {"name": "c"}, "data": data})
    client = Client(cluster.kubeconfig(tmp_path))
    assert client.get(path)["data"] == {"a": "__ansible_unsafe"}
    assert client.list_objects("/api/v1/namespaces/nim/configmaps")[0]["data"].keys() == {"a"}
    assert client.patch(path, {"metadata": {"labels": {"b": "c"}}})["data"].keys() == {"a"}
    assert client.get_whole(path)["data"] == data
