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

from nimops_harness.errors import HarnessError
from nimops_harness.workload import make_nimservice

from .harness import Scene, attack
from .payloads import CLASSES, INJECTED_HEADER, apply_defaults, make_token

OFF = {"sandbox.nimops/model": "off"}
"""An annotation that turns off the sandbox's own model server."""

SLOW_SECONDS = 2.9


class Hostile(http.server.ThreadingHTTPServer):
    """A model server, during a block; `asked` are the requests to it."""

    def __init__(self, address: tuple[str, int], answer: Answerer) -> None:
        self.answer = answer
        self.asked: list[str] = []
        super().__init__(address, Question)

    def __enter__(self) -> t.Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


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


def listing(name: str) -> bytes:
    entry = {"id": name, "object": "model", "root": name}
    return json.dumps({"object": "list", "data": [entry]}).encode()


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
    template = apply_defaults(CLASSES[0].text, make_token("model", "name"), scene.canary)
    hostile = f"{template}\n\r\0\x1b[31m\u202e\u2028{INJECTED_HEADER}"
    with Hostile(("127.0.0.1", 0), lambda it: it.say(listing("redirected"))) as target:
        answers = {
            "drip": drip,
            "redirect": redirect(f"http://127.0.0.1:{target.server_port}/v1/models"),
            "redirect-proxy": redirect("http://127.0.0.1:8888/api/v1/secrets"),
            "naming": lambda it: it.say(listing(hostile)),
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
        scene.expect_printable(name, model)
    scene.expect_unevaluated()
    scene.expect_deleted()
    return f"{len(answers)} kinds of answers: taken for what they are, no redirect followed"


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
