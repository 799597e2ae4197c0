# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Model servers with hostile answers."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import time
import typing as t
import unicodedata
from functools import partial

from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimservice

from .fields import Json
from .harness import Harness, Seen, attack, path_to
from .payloads import CLASSES, INJECTED_HEADER, apply_defaults, make_token

OFF = {"sandbox.nimops/model": "off"}
"""An annotation that turns off the sandbox's own model server."""

SLOW_SECONDS = 2.9


class Hostile(http.server.ThreadingHTTPServer):
    """A model server; `asked` are the requests to it."""

    daemon_threads = True
    allow_reuse_address = True

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
    import gzip

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


def make_service(name: str) -> Json:
    resource = make_nimservice(name)
    resource["spec"]["expose"]["service"]["annotations"] = OFF
    return resource


@contextlib.contextmanager
def serving(
    harness: Harness, namespace: str, answers: t.Mapping[str, Answerer]
) -> t.Iterator[dict[str, Hostile]]:
    """During the block, NIMServices with these model servers."""
    servers: dict[str, Hostile] = {}
    try:
        for name in answers:
            if refusal := harness.create(namespace, make_service(name)):
                raise HarnessError(f"{name}: {refusal}")
        for name, answer in answers.items():
            place = f"/api/v1/namespaces/{namespace}/services/{name}"
            live = harness.wait_for(f"the Service {name}", partial(harness.cluster.find, place), 60)
            if live is None:
                raise HarnessError(f"no Service {name} after 60 s")
            server = Hostile((live["spec"]["clusterIP"], 8000), answer)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            servers[name] = server
        yield servers
    finally:
        for server in servers.values():
            server.shutdown()
            server.server_close()


@attack("model-answers", "any answer is read in bounded time and size, and shown as plain text")
def attack_answers(harness: Harness) -> Seen:
    namespace = harness.namespace("answers")
    canary = str(harness.canary)
    target = Hostile(("127.0.0.1", 0), lambda handler: handler.say(listing("redirected")))
    threading.Thread(target=target.serve_forever, daemon=True).start()
    goals = (
        f"http://127.0.0.1:{target.server_port}/v1/models",
        "http://127.0.0.1:8888/api/v1/secrets",
    )

    def redirect(goal: str) -> Answerer:
        return lambda handler: handler.say(b"", 302, Location=goal)

    token = make_token("model", "name")
    answers = ANSWERS | {
        "redirect": redirect(goals[0]),
        "redirect-proxy": redirect(goals[1]),
        "naming": make_naming(canary, token),
    }
    with serving(harness, namespace, answers) as servers:
        harness.wait_for("questions", lambda: all(server.asked for server in servers.values()), 90)
        problems = [
            f"the model of {name} was not asked" for name, one in servers.items() if not one.asked
        ]
        problems += harness.find_unanswered("NIMService", namespace, servers)
        problems += harness.find_unserved(namespace, 90)
        asked = "".join(text for server in servers.values() for text in server.asked)
    target.shutdown()
    target.server_close()
    if target.asked:
        problems.append("a redirect was followed")
    if INJECTED_HEADER in asked or "Authorization" in asked:
        problems.append("a question had headers that it should not have")
    for name in answers:
        problems += judge_status(harness.read("NIMService", namespace, name) or {}, name)
    problems += judge_events(harness, namespace)
    problems += harness.evaluated(namespace)
    problems += harness.find_undeleted("NIMService", namespace, list(answers))
    return Seen.of(
        problems, f"{len(answers)} kinds of answers: taken for what they are, no redirect followed"
    )


def judge_status(resource: Json, name: str) -> list[str]:
    status = resource.get("status") or {}
    model = (status.get("model") or {}).get("name") or ""
    said = [item.get("message") or "" for item in status.get("conditions") or []]
    odd = [text for text in (model, *said) if has_controls(text)]
    problems = [f"{name}: control characters in the status: {text[:40]!r}" for text in odd]
    if name not in ("naming",) and model:
        problems.append(f"{name}: has a model name, {model[:40]!r}")
    return problems


def judge_events(harness: Harness, namespace: str) -> list[str]:
    events = harness.cluster.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    texts = [item.get("message") or "" for item in events]
    return [
        f"control characters in an event: {text[:40]!r}" for text in texts if has_controls(text)
    ]


def has_controls(text: str) -> bool:
    """Whether a text has control characters other than line feeds."""
    return any(unicodedata.category(char) in ("Cc", "Cf") and char != "\n" for char in text)


@attack("model-slow", "a fifth tenant is served about as fast as alone")
def attack_slow(harness: Harness) -> Seen:
    """Four tenants with slow models, and a fifth tenant."""
    alone = harness.namespace("slow-alone")
    before = time_of(harness, alone, "first")
    tenants = [harness.namespace(f"slow-{number}") for number in range(4)]
    count = 2 if harness.quick else 4
    with contextlib.ExitStack() as stack:
        servers: list[Hostile] = []
        for tenant in tenants:
            answers = {f"slow-{number}": say_slowly for number in range(count)}
            servers += stack.enter_context(serving(harness, tenant, answers)).values()
        harness.wait_for("questions", lambda: all(server.asked for server in servers), 90)
        asked = sum(bool(server.asked) for server in servers)
        fifth = harness.namespace("slow-fifth")
        times = [time_of(harness, fifth, f"quick-{number}") for number in range(3)]
    problems = [] if asked else ["no slow model was asked: the attack did not take place"]
    worst, bound = max(times), max(2 * before, before + 4)
    if worst > bound:
        problems.append(f"Ready after {worst:.1f} s, alone after {before:.1f} s")
    for tenant in tenants:
        names = [f"slow-{number}" for number in range(count)]
        problems += harness.find_undeleted("NIMService", tenant, names)
    shown = ", ".join(f"{seconds:.1f}" for seconds in times)
    return Seen.of(
        problems,
        f"{len(servers)} slow models of four tenants; a fifth's Ready after {shown} s, alone {before:.1f} s",
    )


def time_of(harness: Harness, namespace: str, name: str) -> float:
    """Seconds until an ordinary NIMService is Ready; 120 if it is not."""
    began = time.monotonic()
    harness.create(namespace, make_nimservice(name))
    is_ready = harness.wait_state("NIMService", namespace, name, limit=120)
    seconds = time.monotonic() - began
    harness.cluster.ask("DELETE", path_to("NIMService", namespace, name))
    return seconds if is_ready else 120.0


@attack("pod-statuses", "statuses of pods are shown as plain text")
def attack_pods(harness: Harness) -> Seen:
    """Conditions and reasons of pods, which a pod's author controls."""
    namespace = harness.namespace("pods")
    canary, token = str(harness.canary), make_token("pod", "status")
    text = (
        apply_defaults(CLASSES[0].text, token, canary)
        + "\n\x1b[31m"
        + apply_defaults(CLASSES[1].text, token, canary)
    )
    resource = make_nimservice("failing")
    resource["spec"]["env"] = [{"name": "SANDBOX_BEHAVE", "value": "unready"}]
    harness.create(namespace, resource)
    path = f"/api/v1/namespaces/{namespace}/pods"
    pods = harness.wait_for("pods", lambda: harness.cluster.get(path)["items"], 60) or []
    written = 0
    for pod in pods:
        name = pod["metadata"]["name"]
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
        status = {
            "message": text,
            "reason": text,
            "conditions": [{"type": "Ready", "status": "False", "reason": text, "message": text}],
            "containerStatuses": [
                {
                    "name": pod["spec"]["containers"][0]["name"], "image": "x", "imageID": "x",
                    "ready": False, "restartCount": 7, "state": state,
                    "lastState": {"terminated": {"exitCode": 1, "message": text, "reason": text}},
                }
            ],
        }  # fmt: skip
        answer = harness.cluster.merge(f"{path}/{name}/status", {"status": status})
        written += answer.refusal is None
    deployment = f"/apis/apps/v1/namespaces/{namespace}/deployments/failing/status"
    said = [{"type": "Progressing", "status": "False", "reason": text, "message": text}]
    harness.cluster.merge(deployment, {"status": {"conditions": said}})
    harness.cluster.patch(path_to("NIMService", namespace, "failing"), {"spec": {"replicas": 2}})
    problems = [] if written else ["no pod took the status: the attack did not take place"]
    problems += harness.find_unanswered("NIMService", namespace, ["failing"])
    problems += judge_status(harness.read("NIMService", namespace, "failing") or {}, "failing")
    problems += judge_events(harness, namespace)
    problems += harness.evaluated(namespace)
    problems += harness.find_undeleted("NIMService", namespace, ["failing"])
    return Seen.of(
        problems, f"{written} pods: shown as text without control characters, or not at all"
    )
