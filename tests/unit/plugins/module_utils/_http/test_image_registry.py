# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import base64
import json
import threading
import time

import pytest
from ansible_collections.nimops.nim.plugins.module_utils._http import egress
from ansible_collections.nimops.nim.plugins.module_utils._http import image_registry as module
from ansible_collections.nimops.nim.plugins.module_utils._http.image_registry import (
    LABEL,
    download_protocol,
    find_credentials,
    is_registry_allowed,
    parse_reference,
)
from ansible_collections.nimops.nim.plugins.module_utils._http.registry_auth import RegistryError

USER = "$oauthtoken:s3cr3t"
BASIC = "Basic " + base64.b64encode(USER.encode()).decode()


pytestmark = pytest.mark.usefixtures("no_surroundings")


@pytest.fixture
def serve(serve, monkeypatch):
    """Servers that may be asked over http, though they are on loopback."""
    hosts = []

    def start(respond):
        server = serve(respond)
        hosts.append(server.host)
        monkeypatch.setenv(egress.TEST_VARIABLE, ",".join(hosts))
        return server

    return start


def digest(number):
    return f"sha256:{number:064x}"


def make_registry(host, credentials=""):
    allowed = egress.Egress(host, is_registry_allowed, 10)
    return module._Registry(parse_reference(f"{host}/a"), credentials, allowed)


def encode(text):
    return base64.b64encode(text.encode()).decode()


def docker_config(**auths):
    return encode(json.dumps({"auths": auths}))


def auth_of(host):
    return docker_config(**{host: {"auth": encode(USER)}})


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nvcr.io/nim/meta/llama:1.12.0", ("nvcr.io", "nim/meta/llama", "1.12.0")),
        ("nvcr.io/nim/llama", ("nvcr.io", "nim/llama", "latest")),
        ("localhost/a", ("localhost", "a", "latest")),
        ("127.0.0.1:5000/a/b:t", ("127.0.0.1:5000", "a/b", "t")),
        ("[::1]:5000/a", ("[::1]:5000", "a", "latest")),
        ("registry:5000/a", ("registry:5000", "a", "latest")),
        ("ubuntu:24.04", ("registry-1.docker.io", "library/ubuntu", "24.04")),
        ("docker.io/ubuntu", ("registry-1.docker.io", "library/ubuntu", "latest")),
        ("nvidia/cuda", ("registry-1.docker.io", "nvidia/cuda", "latest")),
        ("index.docker.io/nvidia/cuda", ("registry-1.docker.io", "nvidia/cuda", "latest")),
        ("h.io/a:t@sha256:0a", ("h.io", "a", "sha256:0a")),
        ("h.io/a@sha256:0a", ("h.io", "a", "sha256:0a")),
        ("h.io/a_b--c.d/e", ("h.io", "a_b--c.d/e", "latest")),
    ],
)
def test_parse_reference(image, expected):
    assert parse_reference(image) == expected


@pytest.mark.parametrize(
    "image",
    [
        "",
        "h.io/",
        "h.io/UPPER",
        "h.io/../x",
        "h.io/a?b=c",
        "h.io/a#b",
        "h.io/a b",
        "user:pw@h.io/a",
        "https://h.io/a",
        "h.io/a:../../x",
        "h.io/a@sha256:../x",
        "h.io/a\n",
        "h.io/a:t\n",
    ],
)
def test_parse_reference_invalid(image):
    with pytest.raises(RegistryError):
        parse_reference(image)
    assert download_protocol(image, []) == ""


FIND_CREDENTIALS_CASES = {
    "no secrets": ([], "h.io", ""),
    "auth": ([auth_of("h.io")], "h.io", USER),
    "fields": ([docker_config(**{"h.io": {"username": "u", "password": "p:q"}})], "h.io", "u:p:q"),
    "no password": ([docker_config(**{"h.io": {"username": "u"}})], "h.io", "u:"),
    "scheme and path": ([auth_of("https://h.io/v2/")], "h.io", USER),
    "other port": ([auth_of("h.io:5000")], "h.io", ""),
    "other host": ([auth_of("x.h.io")], "h.io", ""),
    "docker hub": ([auth_of("https://index.docker.io/v1/")], "registry-1.docker.io", USER),
    "docker.io": ([auth_of("docker.io")], "registry-1.docker.io", USER),
    "second secret": ([auth_of("a.io"), auth_of("h.io")], "h.io", USER),
    "first wins": ([docker_config(**{"h.io": {"username": "1"}}), auth_of("h.io")], "h.io", "1:"),
    "an entry that says nothing": ([docker_config(**{"h.io": {}})], "h.io", ""),
    "no entries": ([encode("{}")], "h.io", ""),
    "null": ([encode('{"auths": null}')], "h.io", ""),
}


@pytest.mark.parametrize(
    ("configs", "host", "expected"), FIND_CREDENTIALS_CASES.values(), ids=FIND_CREDENTIALS_CASES
)
def test_find_credentials(configs, host, expected):
    assert find_credentials(configs, host) == expected


@pytest.mark.parametrize(
    "config",
    [
        pytest.param(None, id="missing secret"),
        pytest.param("%%%", id="no base64"),
        pytest.param(encode("s3cr3t"), id="no JSON"),
        pytest.param(encode("[]"), id="a list"),
        pytest.param(encode('{"auths": ["s3cr3t"]}'), id="a list of auths"),
        pytest.param(encode('{"auths": {"h.io": "s3cr3t"}}'), id="text as entry"),
        pytest.param(docker_config(**{"h.io": {"auth": "s3cr3t%"}}), id="auth is not base64"),
        pytest.param(docker_config(**{"h.io": {"auth": 5}}), id="auth is a number"),
        pytest.param(docker_config(**{"h.io": {"auth": "/w=="}}), id="auth is not text"),
    ],
)
def test_find_credentials_unusable_secret(config):
    with pytest.raises(RegistryError) as caught:
        find_credentials([config], "h.io")
    assert "s3cr3t" not in str(caught.value)
    assert download_protocol("h.io/a", [config]) == ""


PRIVATE = (
    *("10.0.0.5", "10.0.0.5:10250", "172.16.0.1:5000", "192.168.1.1", "100.64.0.1:443"),
    *("[fd00::1]", "[fd00::1]:10250", "[::ffff:a00:5]:10250", "[64:ff9b::a00:5]"),
)
"""Private addresses, as the host of an image."""


@pytest.mark.parametrize("host", [*PRIVATE, "10.1", "0x0a.0.0.5", "012.0.0.5", "167772165:443"])
def test_protocol_never_connects_to_private_address(monkeypatch, host):
    """In any spelling: forms that only resolvers accept as addresses are invalid."""
    monkeypatch.setattr(egress, "_connect_to", lambda *_args: pytest.fail("connected"))
    monkeypatch.setattr(egress, "look_up", lambda *_args: pytest.fail("looked up"))
    assert download_protocol(f"{host}/a:1", [], seconds=1) == ""


@pytest.mark.parametrize(
    ("patterns", "host", "allowed"),
    [
        (None, "nvcr.io", True),
        ("", "nvcr.io", False),
        ("nvcr.io", "nvcr.io", True),
        ("nvcr.io", "x.nvcr.io", False),
        ("*.corp, nvcr.io", "nvcr.io", True),
        ("*.corp", "r.corp", True),
        ("*.corp", "r.corp:5000", True),
        ("r.corp:5000", "r.corp:5000", True),
        ("r.corp:5000", "r.corp:6000", False),
        ("docker.io", "registry-1.docker.io", True),
        *((None, host, False) for host in PRIVATE),
        *(("*,*.*,*:*,*:5000,*:10250,?*,[*]", host, False) for host in PRIVATE),
        *((f"nvcr.io,{host}", host, True) for host in PRIVATE),
        ("10.0.*", "10.0.0.5:10250", True),
        ("10.0.0.5", "10.0.0.5:10250", True),
        ("10.0.0.6", "10.0.0.5:10250", False),
        ("*", "10.0.0.5.example:10250", True),
        ("*", "8.8.8.8:443", True),
    ],
)
def test_is_registry_allowed(monkeypatch, patterns, host, allowed):
    if patterns is not None:
        monkeypatch.setenv("NIMOPS_REGISTRIES", patterns)
    assert is_registry_allowed(host) is allowed


class Registry:
    """The image `a:1`, made of platforms with these labels; requires the authentication ``scheme``."""

    def __init__(self, answer, *labels, scheme="", extra=()):
        self.answer, self.scheme, self.extra = answer, scheme, list(extra)
        self.labels = dict(enumerate(labels))
        self.token_path, self.realm, self.failures = "/token", "", []
        self.blob_host = ""
        self.host = ""

    def __call__(self, request):
        if self.failures:
            return self.answer(self.failures.pop(0), "")
        if request.path == self.token_path:
            return self._token(request)
        if refused := self._refuse(request):
            return refused
        return self._content(request, *request.path.removeprefix("/v2/a/").split("/"))

    def _content(self, request, what, version):
        if version == "1":
            return self.answer(200, self._top())
        number = int(version.removeprefix("sha256:"), 16)
        if what == "manifests":
            return self.answer(200, {"config": {"digest": digest(number)}})
        if self.blob_host and request.headers["host"] == self.host:
            return self.answer(307, "", {"Location": f"http://{self.blob_host}{request.path}"})
        return self.answer(200, {"config": {"Labels": self.labels[number]}})

    def _top(self):
        if len(self.labels) == 1 and not self.extra:
            return {"config": {"digest": digest(0)}}
        platforms = [
            {"digest": digest(number), "platform": {"os": "linux", "architecture": "amd64"}}
            for number in self.labels
        ]
        return {"manifests": [*self.extra, *platforms]}

    def _refuse(self, request):
        given = request.headers.get("authorization")
        realm = self.realm or f"http://{self.host}{self.token_path}?from=test"
        bearer = f'Bearer realm="{realm}",service="r",scope="repository:a:pull"'
        challenges = {
            "basic": (BASIC, 'Basic realm="r"'),
            "bearer": ("Bearer t0k3n", bearer),
            "both": ("Bearer t0k3n", f'{bearer}, Basic realm="r"'),
            "anonymous bearer": ("Bearer t0k3n", bearer),
        }
        wanted, challenge = challenges.get(self.scheme, (given, ""))
        if given == wanted:
            return None
        return self.answer(401, {"errors": []}, {"WWW-Authenticate": challenge})

    def _token(self, request):
        if self.scheme != "anonymous bearer" and request.headers.get("authorization") != BASIC:
            return self.answer(401, "")
        assert request.query == {"from": "test", "service": "r", "scope": "repository:a:pull"}
        return self.answer(200, {"access_token": "t0k3n"})


@pytest.fixture
def registry(serve, answer):
    def start(*labels, **options):
        fake = Registry(answer, *labels, **options)
        fake.server = serve(fake)
        fake.host = fake.server.host
        return fake

    return start


def ask(fake, configs=None, **options):
    configs = [auth_of(fake.host)] if configs is None else configs
    return download_protocol(f"{fake.host}/a:1", configs, **options)


NATIVE = {LABEL: "native-v1"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param([NATIVE], "native", id="native"),
        pytest.param([{LABEL: "native-v2"}], "legacy", id="other protocol"),
        pytest.param([{}], "legacy", id="no label"),
        pytest.param([None], "legacy", id="no labels at all"),
        pytest.param([NATIVE, NATIVE], "native", id="all platforms agree"),
        pytest.param([NATIVE, {}], "", id="platforms disagree"),
    ],
)
def test_protocol_of_labels(registry, labels, expected):
    fake = registry(*labels)
    assert ask(fake) == expected
    assert all("authorization" not in item.headers for item in fake.server.requests)
    assert {item.headers["user-agent"] for item in fake.server.requests} == {"k8s-nim-operator"}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            {"annotations": {"vnd.docker.reference.type": "attestation-manifest"}}, id="attestation"
        ),
        pytest.param({"platform": {"os": "unknown", "architecture": "amd64"}}, id="unknown os"),
        pytest.param(
            {"platform": {"os": "linux", "architecture": "unknown"}}, id="unknown architecture"
        ),
    ],
)
def test_protocol_skips_attestations(registry, entry):
    fake = registry(NATIVE, extra=[entry | {"digest": digest(9)}])
    assert ask(fake) == "native"
    assert not any(digest(9) in item.path for item in fake.server.requests)


def test_protocol_of_index_without_platforms(registry):
    assert ask(registry(extra=[{"digest": "x", "platform": {"os": "unknown"}}])) == ""


@pytest.mark.parametrize(
    ("scheme", "with_secret", "without"),
    [
        pytest.param("", "native", "native", id="open"),
        pytest.param("basic", "native", "", id="basic"),
        pytest.param("bearer", "native", "", id="bearer"),
        pytest.param("both", "native", "", id="bearer is preferred"),
        pytest.param("anonymous bearer", "native", "native", id="bearer for all"),
    ],
)
def test_protocol_authorization(registry, scheme, with_secret, without):
    fake = registry(NATIVE, scheme=scheme)
    assert ask(fake) == with_secret
    assert ask(fake, []) == without
    assert ask(fake, [auth_of("other.io")]) == without


def test_protocol_fetches_token_once(registry):
    fake = registry(NATIVE, NATIVE, scheme="bearer")
    assert ask(fake) == "native"
    assert [item.path for item in fake.server.requests].count("/token") == 1


def test_protocol_token_service_on_other_host(registry, serve, answer):
    fake = registry(NATIVE, scheme="bearer")
    service = serve(lambda request: answer(200, {"token": "t0k3n"}))
    fake.realm = f"{service.url}/auth"
    assert ask(fake) == "native"
    assert service.requests[0].headers["authorization"] == BASIC
    assert service.requests[0].query == {"service": "r", "scope": "repository:a:pull"}


@pytest.mark.parametrize(
    ("realm", "why"),
    [
        pytest.param("http://token.example/token", "https", id="plain token service"),
        pytest.param("http://127.0.0.1:8888/token", "https", id="plain, on this machine"),
        pytest.param("ftp://{host}/token", "https", id="no http"),
        pytest.param("/token", "no host", id="relative"),
        pytest.param("https://me:pw@{host}/token", "a user", id="a user of its own"),
    ],
)
def test_protocol_credentials_only_over_https(serve, answer, realm, why):
    service = serve(lambda request: answer(200, {"token": "t"}))
    realm = realm.format(host=service.host)
    with pytest.raises(egress.EgressError, match=why) as caught:
        make_registry("h.io", USER)._authorize(f'Bearer realm="{realm}"')
    assert service.requests == []
    assert "s3cr3t" not in str(caught.value)


def test_protocol_over_https(monkeypatch):
    monkeypatch.setenv(egress.TEST_VARIABLE, "127.0.0.1:5000")
    assert make_registry("h.io")._base == "https://h.io/v2/a"
    assert make_registry("localhost")._base.startswith("https:")
    assert make_registry("127.0.0.1:8888")._base.startswith("https:")
    assert make_registry("127.0.0.1:5000")._base.startswith("http:")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert make_registry("127.0.0.1:5000")._base.startswith("https:")


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_protocol_redirect_without_credentials(registry, serve, answer, scheme):
    store = serve(lambda request: answer(200, {"config": {"Labels": NATIVE}}))
    fake = registry(NATIVE, scheme=scheme)
    fake.blob_host = store.host
    assert ask(fake) == "native"
    assert [item.path for item in store.requests] == [f"/v2/a/blobs/{digest(0)}"]
    assert "authorization" not in store.requests[0].headers


def test_protocol_token_redirect_without_credentials(registry, serve, answer):
    thief = serve(lambda request: answer(200, {"token": "t0k3n"}))
    service = serve(lambda request: answer(307, "", {"Location": f"{thief.url}/x"}))
    fake = registry(NATIVE, scheme="bearer")
    fake.realm = f"{service.url}/auth"
    assert ask(fake) == "native"
    assert "authorization" in service.requests[0].headers
    assert "authorization" not in thief.requests[0].headers


def test_protocol_redirect_loop(serve, answer):
    server = serve(lambda request: answer(307, "", {"Location": request.path}))
    assert download_protocol(f"{server.host}/a", []) == ""
    assert len(server.requests) < 10


def test_protocol_retries_transient_failure(registry):
    fake = registry(NATIVE)
    fake.failures = [503]
    assert ask(fake) == "native"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="nothing"),
        pytest.param("<html>", id="HTML"),
        pytest.param("[]", id="list"),
        pytest.param("{}", id="empty"),
        pytest.param('{"manifests": null}', id="null"),
        pytest.param('{"manifests": ["x"]}', id="text"),
        pytest.param('{"manifests": [{}]}', id="no digest"),
        pytest.param('{"manifests": [{"digest": "../../../x"}]}', id="a path as digest"),
        pytest.param('{"manifests": [{"digest": ["x"]}]}', id="a list as digest"),
        pytest.param('{"config": {"digest": "sha256:12?x=y"}}', id="a query in a digest"),
        pytest.param("[" * 400, id="deep"),
        pytest.param('{"config": null}', id="no config"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"{" + b"x" * 1000, id="large"),
    ],
)
def test_protocol_invalid_answers(monkeypatch, serve, answer, body):
    monkeypatch.setattr(egress, "LIMIT_BYTES", 500)
    server = serve(lambda request: answer(200, body))
    assert download_protocol(f"{server.host}/a", []) == ""
    assert [item.path for item in server.requests] == ["/v2/a/manifests/latest"]


@pytest.mark.parametrize(
    ("challenge", "text"),
    [
        pytest.param("", "credentials", id="none"),
        pytest.param("Negotiate", "credentials", id="unknown"),
        pytest.param('Bearer service="x"', "realm", id="no realm"),
    ],
)
def test_protocol_invalid_challenges(serve, answer, challenge, text):
    server = serve(lambda request: answer(401, "", {"WWW-Authenticate": challenge}))
    with pytest.raises((RegistryError, KeyError), match=text) as caught:
        make_registry(server.host, USER).protocol()
    assert "s3cr3t" not in str(caught.value)
    assert download_protocol(f"{server.host}/a", [auth_of(server.host)]) == ""


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_protocol_refusals(serve, answer, status):
    server = serve(lambda request: answer(status, ""))
    assert download_protocol(f"{server.host}/a", []) == ""
    assert len(server.requests) <= 2


def test_protocol_hanging_registry(serve, answer):
    release = threading.Event()

    def hang(request):
        release.wait(10)
        return answer(200, {})

    server = serve(hang)
    begin = time.monotonic()
    assert download_protocol(f"{server.host}/a", [], seconds=0.2) == ""
    release.set()
    assert time.monotonic() - begin < 2


def test_protocol_forbidden_registry(monkeypatch, registry):
    monkeypatch.setenv("NIMOPS_REGISTRIES", "nvcr.io")
    fake = registry(NATIVE)
    assert ask(fake) == ""
    assert fake.server.requests == []


def test_protocol_of_mirror(monkeypatch, registry):
    """Only the mirror is asked, with its credentials; the original may be unreachable."""
    fake = registry(NATIVE, scheme="basic")
    monkeypatch.setenv("NIMOPS_REGISTRY_MIRRORS", f"nvcr.io={fake.server.host}")
    monkeypatch.setenv("NIMOPS_REGISTRIES", "127.0.0.1")
    configs = [auth_of("nvcr.io"), auth_of(fake.server.host)]
    assert module.may_ask_about("nvcr.io/a:1") is True
    assert download_protocol("nvcr.io/a:1", configs) == "native"
    assert fake.server.requests[-1].path.startswith("/v2/a/")
    assert module.may_ask_about("docker.io/a") is False


def test_protocol_of_invalid_mirror(monkeypatch, registry):
    fake = registry(NATIVE)
    monkeypatch.setenv("NIMOPS_REGISTRY_MIRRORS", "nvcr.io")
    assert module.may_ask_about(f"{fake.server.host}/a") is False
    assert download_protocol(f"{fake.server.host}/a", []) == ""
    assert fake.server.requests == []


def test_find_source_of_docker_hub(monkeypatch):
    monkeypatch.setenv("NIMOPS_REGISTRY_MIRRORS", "docker.io=m.example/hub")
    assert module.find_source("busybox") == ("m.example", "hub/library/busybox", "latest")
    monkeypatch.setenv("NIMOPS_REGISTRY_MIRRORS", "")
    assert module.find_source("busybox") == parse_reference("busybox")


def test_protocol_reads_index_lazily(registry):
    fake = registry(NATIVE, {}, NATIVE, NATIVE)
    assert ask(fake) == ""
    assert [item.path.split("/")[3] for item in fake.server.requests] == [
        *("manifests", "manifests", "blobs", "manifests", "blobs"),
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "expected"), [(32, "native"), (33, "")])
def test_protocol_index_entries_bounded(registry, count, expected):
    fake = registry(*[NATIVE] * count)
    assert ask(fake) == expected
    assert len(fake.server.requests) == (1 + 2 * count if expected else 1)


def test_protocol_total_size_bounded(monkeypatch, registry):
    monkeypatch.setattr(egress, "TOTAL_BYTES", 3000)
    assert ask(registry(NATIVE, NATIVE)) == "native"
    fake = registry(*[NATIVE | {"other": "x" * 500}] * 8)
    assert ask(fake) == ""
    assert 5 < len(fake.server.requests) < 15


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("t\r\nX-Other: y", id="another header"),
        pytest.param("t\u00e4", id="letters"),
        pytest.param("t" * 20_000, id="long"),
    ],
)
def test_protocol_invalid_tokens(registry, serve, answer, token):
    fake = registry(NATIVE, scheme="bearer")
    service = serve(lambda request: answer(200, {"token": token}))
    fake.realm = f"{service.url}/auth"
    assert ask(fake) == ""
    assert len(service.requests) == len(fake.server.requests) == 1


@pytest.mark.parametrize(
    "image",
    [
        pytest.param("." * 100_000, id="dots"),
        pytest.param("a." * 50_000 + "/", id="host"),
        pytest.param("a" + "_" * 100_000, id="name"),
    ],
)
def test_parse_reference_too_long(image):
    """Taking the first one apart would take minutes."""
    with pytest.raises(RegistryError):
        parse_reference(image)


def test_protocol_proxy_not_for_test_registry(monkeypatch, registry, serve, answer):
    asked = registry(NATIVE)
    proxy = serve(lambda request: answer(502, ""))
    monkeypatch.setenv("https_proxy", proxy.url)
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "")
    assert ask(asked) == "native"
    assert proxy.connections == 0
    assert download_protocol("h.io/a", []) == ""
    assert proxy.connections == 2
