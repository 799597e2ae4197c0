# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Where a registry may lead the operator, and where it may not."""

from __future__ import annotations

import pytest
import urllib3
from ansible_collections.nimops.nim.plugins.module_utils._http import egress as module
from ansible_collections.nimops.nim.plugins.module_utils._http.egress import (
    TEST_VARIABLE,
    Answer,
    Egress,
    EgressError,
)

HOSTS = {
    "public.io": ["8.8.8.8"],
    "cdn.io": ["9.9.9.9"],
    "private.corp": ["10.0.0.5"],
    "store.corp": ["10.0.0.6"],
    "loop.io": ["127.0.0.1"],
    "meta.io": ["169.254.169.254"],
    "mapped.io": ["::ffff:127.0.0.1"],
    "mixed.io": ["127.0.0.1", "8.8.4.4", "10.0.0.7"],
    "unknown.io": [],
}


pytestmark = pytest.mark.usefixtures("no_surroundings")


class World:
    """Servers by host; ``asked`` is (address, port, host, authorization) of each request."""

    def __init__(self, monkeypatch, redirects):
        self.asked = []
        self.redirects = redirects
        monkeypatch.setattr(Egress, "_ask_once", lambda _egress, *asked: self._answer(*asked))

    def _answer(self, place, address, headers):
        asked = (address, place.port, headers["Host"], headers.get("Authorization", ""))
        self.asked.append(asked)
        if location := self.redirects.get(place.url.geturl()):
            return Answer(307, "", b"", location)
        return Answer(200, "", b"{}")

    def get(self, home, url="", allowed=lambda host: True, authorization="", look_up=None):
        egress = Egress(home, allowed, 10, look_up or (lambda host, port: HOSTS[host]))
        if url and url.split("/")[2] != home:
            egress.get(f"https://{home}/", {})
        return egress.get(url or f"https://{home}/", {}, authorization)


@pytest.fixture
def world(monkeypatch):
    return lambda **redirects: World(monkeypatch, redirects.get("redirects", {}))


@pytest.mark.parametrize(
    ("home", "address"),
    [
        pytest.param("public.io", "8.8.8.8", id="public"),
        pytest.param("private.corp", "10.0.0.5", id="its own registry is private"),
        pytest.param("10.1.2.3", "10.1.2.3", id="as an address"),
        pytest.param("[fd12::1]", "fd12::1", id="as one of IPv6"),
        pytest.param("mixed.io", "8.8.4.4", id="of several, the public ones"),
    ],
)
def test_get_allowed_registries(world, home, address):
    seen = world()
    assert seen.get(home).status == 200
    assert seen.asked == [(address, 443, home, "")]


@pytest.mark.parametrize(
    "home",
    [
        *("loop.io", "meta.io", "mapped.io", "unknown.io", "127.0.0.1:8888", "[::1]:8888"),
        *("169.254.169.254", "0.0.0.0:8888", "127.1:8888", "2130706433", "[::ffff:127.0.0.1]:8888"),
        *("[fd00:ec2::254]", "[64:ff9b::127.0.0.1]", "168.63.129.16"),
    ],
)
def test_get_refused_registries(world, home):
    seen = world()
    with pytest.raises((EgressError, ValueError)):
        seen.get(home)
    assert seen.asked == []


def test_get_requires_tls_at_any_port(world):
    """The runtime's proxy speaks HTTP, on loopback: elsewhere such a port is as good as any."""
    seen = world()
    with pytest.raises(EgressError, match="https"):
        seen.get("private.corp", "http://private.corp:8888/apis", look_up=lambda *_: ["10.0.0.5"])
    assert seen.asked == [("10.0.0.5", 443, "private.corp", "")]


REFUSED = {
    "plain": ("public.io", "http://cdn.io/"),
    "plain on the same host": ("public.io", "http://public.io/x"),
    "another scheme": ("public.io", "ftp://cdn.io/"),
    "a file": ("public.io", "file:///etc/passwd"),
    "loopback": ("public.io", "https://127.0.0.1:8888/apis"),
    "plain loopback": ("public.io", "http://127.0.0.1:8888/apis"),
    "loopback of IPv6": ("public.io", "https://[::1]:8888/"),
    "a name of loopback": ("public.io", "https://loop.io/"),
    "loopback from a private registry": ("private.corp", "https://loop.io/"),
    "credentials of a cloud": ("public.io", "https://169.254.169.254/latest/meta-data"),
    "a name of these": ("public.io", "https://meta.io/latest"),
    "these from a private registry": ("private.corp", "https://meta.io/"),
    "private from public": ("public.io", "https://private.corp/"),
    "a private address from public": ("public.io", "https://10.0.0.1/"),
    "a number": ("public.io", "https://2130706433:8888/"),
    "a short address": ("public.io", "https://127.1:8888/"),
    "a user": ("public.io", "https://a:b@cdn.io/"),
    "a user that looks like a host": ("public.io", "https://public.io@127.0.0.1/"),
    "letters": ("public.io", "https://\u2488.io/"),
    "another header": ("public.io", "https://cdn.io/\r\nHost: x"),
    "no host": ("public.io", "https://:443/x"),
    "a port that is none": ("public.io", "https://cdn.io:99999/"),
}


@pytest.mark.parametrize(("home", "url"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("by", ["redirect", "token service"])
def test_get_refused_redirects(world, home, url, by):
    seen = world(redirects={f"https://{home}/": url} if by == "redirect" else {})
    with pytest.raises((EgressError, ValueError)):
        seen.get(home, url if by == "token service" else "")
    assert {item[2] for item in seen.asked} <= {home}
    assert {item[1] for item in seen.asked} <= {443}


@pytest.mark.parametrize("by", ["redirect", "token service"])
@pytest.mark.parametrize(
    ("home", "url", "address"),
    [
        pytest.param("public.io", "https://cdn.io/x", "9.9.9.9", id="public"),
        pytest.param("private.corp", "https://store.corp/x", "10.0.0.6", id="private"),
        pytest.param("private.corp", "https://cdn.io/x", "9.9.9.9", id="out of a private network"),
        pytest.param("public.io", "https://mixed.io/x", "8.8.4.4", id="the public address"),
    ],
)
def test_get_followed_redirects(world, home, url, address, by):
    seen = world(redirects={f"https://{home}/": url} if by == "redirect" else {})
    assert seen.get(home, url if by == "token service" else "").status == 200
    assert seen.asked[-1][0] == address


def test_get_no_private_redirect_from_public_host(world):
    redirects = {
        "https://private.corp/": "https://cdn.io/",
        "https://cdn.io/": "https://store.corp/",
    }
    seen = world(redirects=redirects)
    with pytest.raises(EgressError, match="no allowed address"):
        seen.get("private.corp")
    assert [item[2] for item in seen.asked] == ["private.corp", "cdn.io"]


def test_get_relative_and_bounded_redirects(world):
    seen = world(redirects={"https://public.io/": "/a", "https://public.io/a": "b?c=d"})
    assert seen.get("public.io", authorization="x").status == 200
    assert [item[3] for item in seen.asked] == ["x", "x", "x"]
    seen = world(redirects={"https://public.io/": "/"})
    with pytest.raises(EgressError, match="too many"):
        seen.get("public.io")
    assert len(seen.asked) == 4


@pytest.mark.parametrize("elsewhere", ["https://cdn.io/", "https://public.io:8443/"])
def test_get_credentials_only_at_first_host(world, elsewhere):
    seen = world(redirects={"https://public.io/": elsewhere, elsewhere: "https://public.io/x"})
    seen.get("public.io", authorization="x")
    assert [item[3] for item in seen.asked] == ["x", "", ""]


@pytest.mark.parametrize("by", ["redirect", "token service"])
def test_get_forbidden_hosts(world, by):
    url = "https://cdn.io:8443/x"
    seen = world(redirects={"https://public.io/": url} if by == "redirect" else {})
    with pytest.raises(EgressError, match="not among"):
        seen.get(
            "public.io", url if by == "token service" else "", lambda host: host != "cdn.io:8443"
        )


def test_get_resolves_once_per_request(world):
    """Else it could mean another address when it is connected to than when it was checked."""
    answers = [["8.8.8.8"], ["127.0.0.1"]]
    seen = world()
    egress = Egress("public.io", lambda host: True, 10, lambda host, port: answers.pop(0))
    egress.get("https://public.io/", {})
    assert (seen.asked, answers) == ([("8.8.8.8", 443, "public.io", "")], [["127.0.0.1"]])
    with pytest.raises(EgressError):
        egress.get("https://public.io/", {})


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [
        pytest.param("https://cdn.io/", True, id="a name, which the proxy looks up"),
        pytest.param("https://8.8.8.8/", True, id="public"),
        pytest.param("https://127.0.0.1/", False, id="loopback"),
        pytest.param("https://10.0.0.1/", False, id="private"),
        pytest.param("https://localhost/", False, id="localhost"),
        pytest.param("https://x.localhost:8888/", False, id="below localhost"),
        pytest.param("https://127.1/", False, id="short address"),
    ],
)
def test_get_behind_proxy(world, monkeypatch, url, is_sent):
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "")
    seen = world(redirects={"https://public.io/": url})
    try:
        seen.get("public.io", look_up=lambda host, port: pytest.fail("looked up"))
    except (EgressError, ValueError):
        assert not is_sent
    assert len(seen.asked) == 1 + is_sent


def test_get_timeout():
    egress = Egress("public.io", lambda host: True, 0, lambda host, port: ["8.8.8.8"])
    with pytest.raises(EgressError, match="timed out"):
        egress.get("https://public.io/", {})


@pytest.fixture
def stand_in(monkeypatch, tmp_path, tls):
    """This machine stands in for a public host, and the test's authority for the public ones."""
    file = tmp_path / "ca.pem"
    file.write_bytes(tls.pem(tls.authority[0]))
    monkeypatch.setattr(module, "zone_of", lambda text: "public")
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    return lambda host: Egress(host, lambda host: True, 10, lambda host, port: ["127.0.0.1"])


def test_get_tls_verifies_name(stand_in, serve_https):
    port, seen = serve_https("registry.test", respond=lambda path: (200, {"Location": path}))
    host = f"registry.test:{port}"
    egress = stand_in(host)
    answer = egress.get(f"https://{host}/v2/a?b=c#d", {"X": "y"})
    assert (answer.status, answer.data, answer.location) == (200, b"{}", "/v2/a?b=c")
    assert (seen[0]["Host"], seen[0]["X"]) == (host, "y")
    assert egress.get(f"https://{host}/v2/b", {}).status == 200


@pytest.mark.parametrize(
    ("name", "is_trusted"),
    [
        pytest.param("other.test", True, id="of another name"),
        pytest.param("registry.test", False, id="of another authority"),
    ],
)
def test_get_untrusted_certificates(stand_in, serve_https, tls, name, is_trusted):
    port, seen = serve_https(name, tls.authority if is_trusted else tls.issue("stranger"))
    host = f"registry.test:{port}"
    with pytest.raises(urllib3.exceptions.SSLError):
        stand_in(host).get(f"https://{host}/", {"Authorization": "x"})
    assert seen == []


def test_get_verifies_https_proxy(stand_in, serve_https, monkeypatch):
    port, _seen = serve_https("localhost")
    monkeypatch.setenv("https_proxy", f"https://localhost:{port}")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(urllib3.exceptions.ProxyError, match="501"):  # it cannot CONNECT
        stand_in("registry.test").get("https://registry.test/", {})


def test_get_sends_nothing_over_http(stand_in, serve, answer):
    """The runtime's proxy would be reachable like this if it did not listen on loopback."""
    server = serve(lambda request: answer(200, {}))
    host = server.host.replace("127.0.0.1", "registry.test")
    with pytest.raises(urllib3.exceptions.HTTPError):
        stand_in(host).get(f"https://{host}/apis", {})
    assert server.connections
    assert server.requests == []


def test_get_loopback_only_in_tests(monkeypatch, serve, answer):
    server = serve(lambda request: answer(200, {}))
    egress = Egress(server.host, lambda host: True, 10)
    monkeypatch.setenv(TEST_VARIABLE, f"127.0.0.1:1, {server.host}")
    assert egress.get(f"{server.url}/", {}).status == 200
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    for url in (server.url, f"https://{server.host}"):
        with pytest.raises(EgressError):
            egress.get(f"{url}/", {})
    assert len(server.requests) == 1
