# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Model servers with hostile answers."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import time
import typing as t
import unicodedata

from nimops_harness.errors import HarnessError
from nimops_harness.serving import Serving
from nimops_harness.workload import make_nimservice

from .harness import Scene, attack, messages_of
from .payloads import CLASSES, INJECTED_HEADER, apply_defaults, make_token

OFF = {"sandbox.nimops/model": "off"}
"""An annotation that turns off the sandbox's own model server."""

SLOW_SECONDS = 2.9


class Hostile(Serving, http.server.ThreadingHTTPServer):
    """A model server; `asked` are the requests to it."""

    def __init__(self, address: tuple[str, int], answer: Answerer) -> None:
        self.answer = answer
        self.asked: list[str] = []
        super().__init__(address, Question)


Answerer = t.Callable[["Question"], None]


class Question(http.server.BaseHTTPRequestHandler):
    server: Hostile

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.path} {dict(self.headers)}")
        with contextlib.suppress(OSError):
            self.server.answer(self)

    def log_message(self, format: str, *args: t.Any) -> None:  # noqa: A002 the base class's name
        """Quiet."""

    def say(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def listing(name: t.Any, root: t.Any = None) -> bytes:
    entry = {"id": name, "object": "model", "root": name if root is None else root}
    return json.dumps({"object": "list", "data": [entry]}).encode()


def say_html(handler: Question) -> None:
    handler.say(b"<html><script>alert(1)</script></html>", Content_Type="text/html")


def say_much(handler: Question) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(4096):
        handler.wfile.write(b"[" * 65536)


def say_slowly(handler: Question) -> None:
    time.sleep(SLOW_SECONDS)
    handler.say(b"rubbish")


def drip(handler: Question) -> None:
    """Send a byte now and then."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(600):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.2)


def say_bomb(handler: Question) -> None:
    handler.say(b'{"object": "list", "data": ' + b"[" * 500_000)


def say_headers(handler: Question) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: " + b"a" * 60_000 + b"\r\n")
    for number in range(2000):
        handler.wfile.write(f"X-{number}: {number}\r\n".encode())
    handler.wfile.write(b"\r\n\0\0\0")


def say_compressed(handler: Question) -> None:
    handler.say(gzip.compress(b" " * (64 << 20)), Content_Encoding="gzip")


def say_odd_types(handler: Question) -> None:
    handler.say(json.dumps({"object": "list", "data": [{"id": {"a": [1]}, "root": None}]}).encode())


def make_naming(canary: str, token: str) -> Answerer:
    template = apply_defaults(CLASSES[0].text, token, canary)
    name = f"{template}\n\r\0\x1b[31m\u202e\u2028{INJECTED_HEADER}"
    return lambda handler: handler.say(listing(name))


ANSWERS: dict[str, Answerer] = {
    "html": say_html,
    "much": say_much,
    "drip": drip,
    "bomb": say_bomb,
    "headers": say_headers,
    "compressed": say_compressed,
    "odd-types": say_odd_types,
}


def redirect(goal: str) -> Answerer:
    return lambda handler: handler.say(b"", 302, Location=goal)


@contextlib.contextmanager
def serving(scene: Scene, answers: t.Mapping[str, Answerer]) -> t.Iterator[dict[str, Hostile]]:
    """During the block, NIMServices with these model servers."""
    for name in answers:
        resource = make_nimservice(name)
        resource["spec"]["expose"]["service"]["annotations"] = OFF
        scene.make(resource)
    with contextlib.ExitStack() as stack:
        servers = {}
        for name, answer in answers.items():
            live = scene.wait_for(lambda: scene.find("Service", name))  # noqa: B023 called at once
            if live is None:
                raise HarnessError(f"no Service {name} after 60 s")
            server = Hostile((live["spec"]["clusterIP"], 8000), answer)
            servers[name] = stack.enter_context(server)
        yield servers


@attack("model-answers", "any answer is read in bounded time and size, and shown as plain text")
def attack_answers(scene: Scene) -> str:
    with Hostile(("127.0.0.1", 0), lambda it: it.say(listing("redirected"))) as target:
        answers = ANSWERS | {
            "redirect": redirect(f"http://127.0.0.1:{target.server_port}/v1/models"),
            "redirect-proxy": redirect("http://127.0.0.1:8888/api/v1/secrets"),
            "naming": make_naming(scene.canary, make_token("model", "name")),
        }
        with serving(scene, answers) as servers:
            scene.wait_for(lambda: all(server.asked for server in servers.values()), 90)
            for name, server in servers.items():
                scene.expect(server.asked, f"the model of {name} was not asked")
            scene.expect_answered()
            scene.expect_served(90)
            asked = "".join(text for server in servers.values() for text in server.asked)
    scene.expect(not target.asked, "a redirect was followed")
    is_plain = INJECTED_HEADER not in asked and "Authorization" not in asked
    scene.expect(is_plain, "a question had headers that it should not have")
    for name in answers:
        model = (scene.status("NIMService", name).get("model") or {}).get("name") or ""
        is_known = not model or name == "naming"
        scene.expect(is_known, f"{name}: has a model name, {model[:40]!r}")
        expect_printable(scene, name, model)
    scene.expect_unevaluated()
    scene.expect_deleted()
    return f"{len(answers)} kinds of answers: taken for what they are, no redirect followed"


def expect_printable(scene: Scene, name: str, *texts: str) -> None:
    """Problems are control characters, except line feeds, in conditions and events."""
    said = [*texts, *messages_of(scene.read("NIMService", name))]
    for text in [*said, *(item.get("message") or "" for item in scene.events())]:
        odd = [c for c in text if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
        scene.expect(not odd, f"{name}: control characters in {text[:40]!r}")


@attack("model-slow", "a fifth tenant is served about as fast as alone")
def attack_slow(scene: Scene) -> str:
    """Four tenants with slow models, and a fifth tenant."""
    before = time_of(scene, "first")
    tenants = [scene.open(f"{number}") for number in range(4)]
    answers = {f"slow-{number}": say_slowly for number in range(2 if scene.quick else 4)}
    with contextlib.ExitStack() as stack:
        servers: list[Hostile] = []
        for tenant in tenants:
            servers += stack.enter_context(serving(tenant, answers)).values()
        scene.wait_for(lambda: all(server.asked for server in servers), 90)
        is_asked = any(server.asked for server in servers)
        times = [time_of(scene, f"quick-{number}") for number in range(3)]
    scene.expect(is_asked, "no slow model was asked: the attack did not take place")
    worst, bound = max(times), max(2 * before, before + 4)
    scene.expect(worst <= bound, f"Ready after {worst:.1f} s, alone after {before:.1f} s")
    for tenant in tenants:
        tenant.expect_deleted()
    shown = ", ".join(f"{seconds:.1f}" for seconds in times)
    return f"{len(servers)} slow models of four tenants; a fifth's Ready after {shown} s, alone {before:.1f} s"


def time_of(scene: Scene, name: str) -> float:
    """Seconds until an ordinary NIMService is Ready; 120 if it is not."""
    began = time.monotonic()
    scene.post(make_nimservice(name))
    is_ready = scene.wait_state(name, limit=120)
    seconds = time.monotonic() - began
    scene.cluster.ask("DELETE", scene.path("NIMService", name))
    return seconds if is_ready else 120.0


@attack("pod-statuses", "statuses of pods are shown as plain text")
def attack_pods(scene: Scene) -> str:
    """Conditions and reasons of pods, which a pod's author controls."""
    token = make_token("pod", "status")
    first, second = (apply_defaults(item.text, token, scene.canary) for item in CLASSES[:2])
    text = f"{first}\n\x1b[31m{second}"
    env = [{"name": "SANDBOX_BEHAVE", "value": "unready"}]
    scene.make(make_nimservice("failing", env=env))
    pods = scene.wait_for(lambda: scene.cluster.items("Pod", scene.namespace)) or []
    said = {"status": "False", "reason": text, "message": text}
    written = 0
    for pod in pods:
        status = {
            "message": text,
            "reason": text,
            "conditions": [said | {"type": "Ready"}],
            "containerStatuses": [
                {
                    "name": pod["spec"]["containers"][0]["name"], "image": "x", "imageID": "x",
                    "ready": False, "restartCount": 7,
                    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": text}},
                    "lastState": {"terminated": {"exitCode": 1, "message": text, "reason": text}},
                }
            ],
        }  # fmt: skip
        place = f"{scene.path('Pod', pod['metadata']['name'])}/status"
        written += not scene.cluster.merge(place, {"status": status}).refusal
    progress = {"status": {"conditions": [said | {"type": "Progressing"}]}}
    scene.cluster.merge(f"{scene.path('Deployment', 'failing')}/status", progress)
    scene.change("failing", {"spec": {"replicas": 2}})
    scene.expect(written, "no pod took the status: the attack did not take place")
    scene.expect_answered()
    expect_printable(scene, "failing")
    scene.expect_unevaluated()
    scene.expect_deleted()
    return f"{written} pods: shown as text without control characters, or not at all"
