# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Registries that redirect the operator, or send too much."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import socketserver
import time
import typing as t

from nimops_harness.cluster import Json
from nimops_harness.contain import add_address
from nimops_harness.progress import wait_until
from nimops_harness.runtime import MemoryWatch
from nimops_harness.serving import Serving
from nimops_harness.workload import make_nimcache

from .harness import Scene, attack
from .models import Hostile, Question, drip

METADATA = "169.254.169.254"
"""The metadata service of clouds, which serves credentials."""

NODE = "10.77.0.5"
"""The address of a node."""

ENTRIES = 1000
MOST_QUESTIONS = 64
GROWTH_MIB = 400
_INDEX = "application/vnd.oci.image.index.v1+json"


class Trap(Serving, socketserver.ThreadingTCPServer):
    """A server that must not be called; `callers` are the addresses of its clients."""

    def __init__(self) -> None:
        self.callers: list[t.Any] = []
        super().__init__(("0.0.0.0", 0), socketserver.BaseRequestHandler)

    def listen_at(self, address: str) -> None:
        """Give this machine an address that leads here; HarnessError if it does not."""
        add_address(address)
        with contextlib.suppress(OSError):
            socket.create_connection((address, self.server_address[1]), 5).close()
        wait_until(lambda: self.callers, f"a connection to {address}", 5, pause=0.05)
        self.callers.clear()

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


def make_cache(name: str, image: str) -> Json:
    cache = make_nimcache(name)
    cache["spec"]["source"]["ngc"]["modelPuller"] = f"{image}:1"
    return cache


@attack(
    "registry",
    "no redirect or token service leads to this machine or to a cloud's metadata; documents and entries are bounded",
    sides=("prefork",),
)
def attack_registry(scene: Scene) -> str:
    with Trap() as trap:
        ways = list_ways(trap.server_address[1])
        trap.listen_at(METADATA)
        with Hostile(("127.0.0.1", 0), lambda handler: answer(handler, ways)) as registry:
            return judge_registry(scene, trap, registry, list(ways))


def judge_registry(scene: Scene, trap: Trap, registry: Hostile, ways: list[str]) -> str:
    host = f"127.0.0.1:{registry.server_port}"
    names = [f"{how}-{way}" for how in ("redirect", "realm") for way in ways]
    names += ["many", "huge", "drip"]

    def list_missing() -> list[str]:
        asked = "".join(registry.asked)
        return [name for name in names if f"/v2/{name}/" not in asked]

    operator = scene.harness.start(NIMOPS_REGISTRIES="*", NIMOPS_TEST_REGISTRIES=host)
    with MemoryWatch(operator.memory) as memory:
        scene.make(*(make_cache(name, f"{host}/{name}") for name in names))
        began = time.monotonic()
        scene.expect_answered(180)
        seconds = time.monotonic() - began
        scene.wait_for(lambda: not list_missing(), 60)
        scene.expect_served(120)
    scene.problems += [f"not asked, so not attacked: {name}" for name in list_missing()]
    scene.problems += [f"the trap was called: {caller}" for caller in trap.callers]
    per_index = sum("/v2/many/" in line.partition(" ")[0] for line in registry.asked)
    scene.expect(per_index <= MOST_QUESTIONS, f"{per_index} questions about one image")
    more = f"{memory.growth:.0f} MiB more"
    scene.expect(memory.growth <= GROWTH_MIB, f"the operator's memory: {more}")
    is_plain = not any("X-Injected" in line for line in registry.asked)
    scene.expect(is_plain, "a header was injected into a question")
    scene.expect_deleted()
    scene.harness.start()
    return (
        f"{len(names)} images in {seconds:.0f} s: the trap was not called,"
        f" {per_index} requests about an index of {ENTRIES}, {more}"
    )


@attack(
    "node",
    "no image makes the operator connect to a private address that no pattern names",
    sides=("prefork",),
)
def attack_node(scene: Scene) -> str:
    """Images whose registry is a private address, such as the node's."""
    number = int(ipaddress.IPv4Address(NODE))
    spellings = {
        "plain": NODE,
        "mapped": f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
        "short": f"10.{number & 0xFFFFFF}",
        "number": f"{number}",
    }
    with Trap() as trap:
        port = trap.server_address[1]
        trap.listen_at(NODE)
        scene.harness.start(NIMOPS_REGISTRIES="*")
        for name, host in spellings.items():
            scene.create(make_cache(name, f"{host}:{port}/a"))
        made = list(scene.made.get("NIMCache", []))
        scene.expect("plain" in made, "plain was refused")
        scene.expect_answered(120)
        scene.problems += [f"the operator called the node: {caller}" for caller in trap.callers]
        scene.expect_deleted()
        trap.callers.clear()
        scene.harness.start(NIMOPS_REGISTRIES=f"*,{NODE}")
        scene.make(make_cache("named", f"{NODE}:{port}/a"))
        is_asked = scene.wait_for(lambda: trap.callers)
        scene.expect(is_asked, "a registry that a pattern names is not asked")
        scene.expect_deleted()
    scene.harness.start()
    return f"{len(made)} spellings of {NODE}: not called, until a pattern named it"
