# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Registries that redirect the operator, or send too much."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import socketserver
import threading
import time
import typing as t

from nimops_harness.contain import add_address
from nimops_harness.runtime import MemoryWatch
from nimops_harness.workload import make_nimcache

from .harness import Harness, Seen, attack
from .models import Hostile, Question, drip

METADATA = "169.254.169.254"
"""The metadata service of clouds, which serves credentials."""

NODE = "10.77.0.5"
"""The address of a node."""

ENTRIES = 1000
MOST_QUESTIONS = 64
GROWTH_MIB = 400
_INDEX = "application/vnd.oci.image.index.v1+json"


class Trap(socketserver.ThreadingTCPServer):
    """A server that must not be called; `callers` are the addresses of its clients."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        self.callers: list[t.Any] = []
        super().__init__(("0.0.0.0", 0), socketserver.BaseRequestHandler)

    def can_be_reached(self, address: str) -> bool:
        """Whether connections to an address reach this server; these are not counted."""
        with contextlib.suppress(OSError):
            socket.create_connection((address, self.server_address[1]), 5).close()
        deadline = time.monotonic() + 5
        while not self.callers and time.monotonic() < deadline:
            time.sleep(0.05)
        came = bool(self.callers)
        self.callers.clear()
        return came

    def process_request(self, request: t.Any, client_address: t.Any) -> None:
        self.callers.append(client_address)
        self.shutdown_request(request)


def list_ways(port: int) -> dict[str, str]:
    """URLs of this machine, by the name of a repository."""
    return {
        "metadata": f"https://{METADATA}:{port}/",
        "plain": f"http://127.0.0.1:{port}/",
        "tls": f"https://127.0.0.1:{port}/",
        "name": f"https://localhost:{port}/",
        "zero": f"https://0.0.0.0:{port}/",
        "number": f"https://2130706433:{port}/",
        "short": f"https://127.1:{port}/",
        "mapped": f"https://[::ffff:127.0.0.1]:{port}/",
        "user": f"https://registry.example@127.0.0.1:{port}/",
        "net": f"//127.0.0.1:{port}/",
        "split": f"https://127.0.0.1:{port}\r\nX-Injected: a/",
        "proxy": "http://127.0.0.1:8888/api/v1/secrets",
        "file": "file:///etc/passwd",
    }


def answer(handler: Question, ways: dict[str, str]) -> None:
    """Answer by the requested repository."""
    name = handler.path.removeprefix("/v2/").partition("/")[0]
    how, _, way = name.partition("-")
    if how == "redirect":
        handler.say(b"", 302, Location=ways[way].replace("\r\n", " "))
    elif how == "realm":
        challenge = f'Bearer realm="{ways[way]}token",service="a",scope="b"'.replace("\r\n", " ")
        handler.say(b"", 401, WWW_Authenticate=challenge)
    elif how == "many":
        say_index(handler)
    elif how == "huge":
        handler.say(b" " * (8 << 20), Content_Type=_INDEX)
    else:
        drip(handler)


def say_index(handler: Question) -> None:
    """An index of a thousand other indexes."""
    entries = [
        {"mediaType": _INDEX, "digest": f"sha256:{number:064x}", "size": 1, "platform": {"os": "linux", "architecture": "amd64"}}
        for number in range(ENTRIES)
    ]  # fmt: skip
    body = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": entries}
    handler.say(json.dumps(body).encode(), Content_Type=_INDEX)


@attack(
    "registry",
    "no redirect or token service leads to this machine or to a cloud's metadata; documents and entries are bounded",
    sides=("prefork",),
)
def attack_registry(harness: Harness) -> Seen:
    namespace = harness.namespace("registry")
    trap = Trap()
    ways = list_ways(trap.server_address[1])
    registry = Hostile(("127.0.0.1", 0), lambda handler: answer(handler, ways))
    for server in (trap, registry):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{registry.server_port}"
    names = [f"{how}-{way}" for how in ("redirect", "realm") for way in ways]
    names += ["many", "huge", "drip"]
    with contextlib.ExitStack() as stack:
        for server in (trap, registry):
            stack.callback(server.server_close)
            stack.callback(server.shutdown)
        add_address(METADATA)
        if not trap.can_be_reached(METADATA):
            return Seen(False, f"{METADATA} cannot be reached: the attack did not take place")
        operator = harness.start(NIMOPS_REGISTRIES="*", NIMOPS_TEST_REGISTRIES=host)
        memory = stack.enter_context(MemoryWatch(operator.memory))
        for name in names:
            cache = make_nimcache(name)
            cache["spec"]["source"]["ngc"]["modelPuller"] = f"{host}/{name}:1"
            harness.create(namespace, cache)
        began = time.monotonic()
        problems = harness.find_unanswered("NIMCache", namespace, names, 180)
        seconds = time.monotonic() - began

        def list_missing() -> list[str]:
            asked = "".join(registry.asked)
            return [name for name in names if f"/v2/{name}/" not in asked]

        harness.wait_for("questions", lambda: not list_missing(), 60)
        problems += harness.find_unserved(namespace, 120)
        asked = [line.partition(" ")[0] for line in registry.asked]
    problems += [f"not asked, so not attacked: {name}" for name in list_missing()]
    problems += [f"the trap was called: {caller}" for caller in trap.callers]
    per_index = sum("/v2/many/" in path for path in asked)
    if per_index > MOST_QUESTIONS:
        problems.append(f"{per_index} questions about one image")
    if memory.growth > GROWTH_MIB:
        problems.append(f"the operator's memory grew by {memory.growth:.0f} MiB")
    if any("X-Injected" in line for line in registry.asked):
        problems.append("a header was injected into a question")
    problems += harness.find_undeleted("NIMCache", namespace, names)
    harness.start()
    return Seen.of(
        problems,
        f"{len(names)} images in {seconds:.0f} s: the trap was not called, {per_index} requests about an index of {ENTRIES}, {memory.growth:.0f} MiB more",
    )


@attack(
    "node",
    "no image makes the operator connect to a private address that no pattern names",
    sides=("prefork",),
)
def attack_node(harness: Harness) -> Seen:
    """Images whose registry is a private address, such as the node's."""
    namespace = harness.namespace("node")
    trap = Trap()
    port = trap.server_address[1]
    hosts = {
        "plain": f"{NODE}:{port}",
        "mapped": f"[::ffff:{int(ipaddress.IPv4Address(NODE)) >> 16:x}:{int(ipaddress.IPv4Address(NODE)) & 0xFFFF:x}]:{port}",
        "short": f"10.{int(ipaddress.IPv4Address(NODE)) & 0xFFFFFF}:{port}",
        "number": f"{int(ipaddress.IPv4Address(NODE))}:{port}",
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        threading.Thread(target=trap.serve_forever, daemon=True).start()
        stack.callback(trap.server_close)
        stack.callback(trap.shutdown)
        add_address(NODE)
        if not trap.can_be_reached(NODE):
            return Seen(False, f"{NODE} cannot be reached: the attack did not take place")
        harness.start(NIMOPS_REGISTRIES="*")
        made = []
        for name, host in hosts.items():
            cache = make_nimcache(name)
            cache["spec"]["source"]["ngc"]["modelPuller"] = f"{host}/a:1"
            if harness.create(namespace, cache) is None:
                made.append(name)
        problems = harness.find_unanswered("NIMCache", namespace, made, 120)
        callers = list(trap.callers)
        harness.delete_all("NIMCache", namespace, made)
        trap.callers.clear()
        harness.start(NIMOPS_REGISTRIES=f"*,{NODE}")
        cache = make_nimcache("named")
        cache["spec"]["source"]["ngc"]["modelPuller"] = f"{hosts['plain']}/a:1"
        harness.create(namespace, cache)
        harness.wait_for("a question", lambda: trap.callers, 60)
        is_asked = bool(trap.callers)
        harness.delete_all("NIMCache", namespace, ["named"])
    problems += ["plain was refused"] if "plain" not in made else []
    problems += [f"the operator called the node: {caller}" for caller in callers]
    problems += [] if is_asked else ["a registry that a pattern names is not asked"]
    harness.start()
    return Seen.of(
        problems, f"{len(made)} spellings of {NODE}: not called, until a pattern named it"
    )
