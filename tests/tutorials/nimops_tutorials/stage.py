# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of a cluster that the sandbox lacks: pods of our operator, models, load balancers."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

import yaml
from nimops_harness.cluster import Api, NotFoundError, kubectl, path_of
from nimops_harness.errors import HarnessError
from nimops_harness.forward import Forwarder
from nimops_harness.progress import wait_until
from nimops_harness.runtime import ROOT, ContainedOperator
from nimops_harness.sandbox import Sandbox

from .definitions import add_foreign_definition

MODEL = "sandbox.nimops/model"
OPERATOR = "app.kubernetes.io/name=nimops"
HOLD = "nimops.nim/tutorial"
"""The finalizer of a pod whose operator runs."""
BALANCER = "203.0.113.10"
"""The address that a load balancer gives to a Service; it is for documentation."""
PERIOD, MOST_FAILURES = 0.5, 20
REFERENCE = ROOT / "molecule/takeover"
CACHES = (".ansible", ".cache", ".kube")
"""Folders of the home folder that programs keep."""
UNSEEN = ("endpoints", "events", "leases")
"""Kinds that Kubernetes writes by itself, or deprecates."""
LEASE = "a0715c6e.nvidia.com"


class Stage:
    """Plays the missing parts in the background, during the block."""

    def __init__(self, sandbox: Sandbox, work: Path) -> None:
        self.sandbox = sandbox
        self.work = work
        """The folder of the reader's files."""
        self.operator: ContainedOperator | None = None
        self.relays: dict[tuple[str, int], Forwarder] = {}
        self.prometheus_port = 0
        self.things = contextlib.ExitStack()
        """Substitutes of commands that end with the stage."""
        self._api = Api()
        self._pod = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._fault = ""

    def __enter__(self) -> t.Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()
        self.things.close()
        for relay in self.relays.values():
            relay.close()
        self.stop_operator()

    def check(self) -> None:
        """HarnessError if a part has failed."""
        if self._fault:
            raise HarnessError(self._fault)

    def start_operator(self, **environment: str) -> None:
        """Start our operator on what is installed; one at a time."""
        name = f"operator-{len(list(self.sandbox.logs.glob('operator-*')))}"
        settings = {"INSTALLED": "1", "NIMOPS_COMPONENT": "", **environment}
        self.operator = self.sandbox.start_operator(name, "prefork", None, 0, **settings)

    def stop_operator(self) -> None:
        """Stop it, if it runs."""
        if self.operator:
            self.operator.stop()
            self.operator = None

    def relay(self, address: tuple[str, int], host: str, port: int) -> None:
        """Forward connections of an address to another one."""
        if address not in self.relays:
            self.relays[address] = Forwarder(socket.create_server(address), port, host)

    def _play(self) -> None:
        failed = 0
        while not self._end.wait(PERIOD) and failed < MOST_FAILURES:
            try:
                self._run_operator()
                self._choose_models()
                self._balance()
                failed = 0
            except NotFoundError:
                continue  # deleted meanwhile
            except (HarnessError, OSError) as error:
                failed += 1
                self._fault = f"the stage: {error}" if failed == MOST_FAILURES else ""

    def _run_operator(self) -> None:
        """Run our operator while it has a pod, with the variables of its container."""
        query = path_of("Pod", "", labelSelector=OPERATOR)
        pods = {item["metadata"]["uid"]: item for item in self._api.get(query)["items"]}
        for uid, pod in pods.items():
            metadata = pod["metadata"]
            place = path_of("Pod", metadata["namespace"], metadata["name"])
            if metadata.get("deletionTimestamp"):
                if uid == self._pod:
                    self.stop_operator()
                    self._pod = ""
                self._api.patch(place, {"metadata": {"finalizers": None}})
            elif not self._pod and pod["status"].get("phase") == "Running":
                self._api.patch(place, {"metadata": {"finalizers": [HOLD]}})
                self._pod = uid
                [container] = pod["spec"]["containers"]
                found = {item["name"]: item.get("value") for item in container["env"]}
                known = {key: text for key, text in found.items() if text is not None}
                known |= {"OPERATOR_NAMESPACE": metadata["namespace"], "LEADER_ELECT": "1"}
                self.start_operator(LEAST_PRIVILEGE="1", **known)
        if self.operator and self._pod:
            self.operator.check()

    def _choose_models(self) -> None:
        """Let a model server answer as the model of its image, once that is known."""
        query = path_of("Service", "", labelSelector="app.kubernetes.io/part-of=nim-service")
        for service in self._api.get(query)["items"]:
            metadata = service["metadata"]
            if MODEL in (metadata.get("annotations") or {}):
                continue
            names = metadata["namespace"], metadata["name"]
            if deployment := self._api.find(path_of("Deployment", *names)):
                image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
                notes = describe_model(image)
                self._api.patch(path_of("Service", *names), {"metadata": {"annotations": notes}})

    def _balance(self) -> None:
        """Give Services of gateways an address, as the load balancer of a cloud does."""
        for service in self._api.get(path_of("Service", ""))["items"]:
            if service["spec"]["type"] != "LoadBalancer" or service["status"]["loadBalancer"]:
                continue
            url = (self.sandbox.directory / "neighbors/gateway/http").read_text()
            if (BALANCER, 80) not in self.relays:
                command = ["ip", "address", "add", f"{BALANCER}/32", "dev", "lo"]
                subprocess.run(command, check=True)
                self.relay((BALANCER, 80), "127.0.0.1", int(url.rpartition(":")[2]))
            metadata = service["metadata"]
            place = path_of("Service", metadata["namespace"], metadata["name"]) + "/status"
            self._api.patch(place, {"status": {"loadBalancer": {"ingress": [{"ip": BALANCER}]}}})


def describe_model(image: str) -> dict[str, str]:
    """Annotations of a Service: what the model of an image answers, and its name."""
    name = re.sub(r"^(?:[^/]+\.[^/]+/)?(?:nim/)?", "", image.partition("@")[0]).rpartition(":")[0]
    words = {"embed": "embedding", "rerank": "rerank"}
    kind = next((kind for word, kind in words.items() if word in name), "models")
    return {MODEL: kind, f"{MODEL}-name": name}


def install_reference(stage: Stage, namespace: str) -> None:
    """Install NVIDIA's operator: its CRDs, its Deployment and its Lease; ours does its work."""
    for file in sorted((ROOT / "config/crd/bases").glob("apps.nvidia.com_*.yaml")):
        add_foreign_definition(file.stem.partition("_")[2], {})
    kubectl("create", "namespace", namespace)
    text = (REFERENCE / "operators/reference.yaml").read_text()
    deployment = yaml.safe_load(text)["items"][0]
    deployment["metadata"] |= {"name": "nim-operator-k8s-nim-operator", "namespace": namespace}
    deployment["metadata"]["annotations"] = {"meta.helm.sh/release-name": "nim-operator"}
    kubectl("apply", "-f", "-", stdin=json.dumps(deployment))
    kubectl("-n", namespace, "rollout", "status", f"deployment/{deployment['metadata']['name']}")
    stage.start_operator()
    assert stage.operator is not None
    stage.operator.wait_until_ready()


def hand_to_reference(stage: Stage, namespace: str, models: str) -> None:
    """Stop what plays NVIDIA's operator, and make its objects NVIDIA's; the Lease as well."""
    stage.stop_operator()
    command = [sys.executable, str(REFERENCE / "as_reference.py"), models]
    subprocess.run(command, check=True)
    selector = "app.kubernetes.io/name=k8s-nim-operator"
    pod = kubectl("-n", namespace, "get", "pods", "-l", selector, "-o", "name").strip()
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": LEASE, "namespace": namespace},
        "spec": {
            "holderIdentity": f"{pod.removeprefix('pod/')}_0b6c",
            "leaseDurationSeconds": 86400,
        },
    }
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(lease))


def list_objects() -> set[str]:
    """All objects of the cluster, but for what Kubernetes writes by itself."""
    kinds = kubectl("api-resources", "--verbs=list,delete", "-o", "name").split()
    kept = [kind for kind in kinds if kind.partition(".")[0] not in UNSEEN]
    columns = "custom-columns=K:.kind,NS:.metadata.namespace,N:.metadata.name"
    lines = kubectl("get", ",".join(kept), "-A", "--no-headers", "-o", columns).splitlines()
    return {" ".join(line.split()) for line in lines}


def find_leftovers(before: set[str], home: Path, work: Path, jobs: list[str]) -> list[str]:
    """Objects, files and jobs of the shell that the reader has not removed within a minute."""
    with contextlib.suppress(HarnessError):
        wait_until(lambda: not list_objects() - before, "the objects are deleted", 60.0)
    left = sorted(list_objects() - before)
    left += [str(file) for file in home.iterdir() if file.name not in CACHES]
    left += [file.name for file in work.iterdir() if not file.is_symlink()]
    return left + [f"job {pid}" for pid in jobs]
