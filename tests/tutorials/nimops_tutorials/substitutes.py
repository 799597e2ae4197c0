# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Commands of the tutorials that the sandbox cannot execute as they are, and what stands for them.

docs/develop/testing.md has the same table, which tests/unit/tutorials compares.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from nimops_harness.cluster import kubectl

from .monitoring import SERVICE, start_adapter, start_prometheus, stop_monitoring
from .stage import MODEL, Stage, hand_to_reference, install_reference

MODELS, NVIDIA = "nim", "nim-operator"
"""The namespaces of the models, and of NVIDIA's operator."""


def nothing(_stage: Stage, _text: str) -> str | None:
    """Type the command as it is."""
    return None


def done(_stage: Stage, _text: str) -> None:
    """Nothing is left to do after the command."""


@dataclass(frozen=True)
class Substitute:
    """A substitute for commands that begin with a text.

    play: called before; returns the command that is typed instead, whose output is not compared,
    or None for the command itself. after: called when the command has ended.
    """

    pattern: str
    page: str
    here: str
    play: Callable[[Stage, str], str | None] = nothing
    after: Callable[[Stage, str], None] = done
    neighbor: str = ""
    programs: tuple[str, ...] = ()


def skip(_stage: Stage, _text: str) -> str:
    """Type nothing."""
    return "true"


def offer_gateways(_stage: Stage, _text: str) -> str:
    """Leave the GatewayClass to the reader."""
    kubectl("delete", "gatewayclass", "envoy")
    return "true"


def forward_port(stage: Stage, text: str) -> str:
    """Listen on the port, and leave a job in the place of kubectl's."""
    found = re.match(r"kubectl -n (\S+) port-forward service/(\S+) (\d+)", text)
    assert found is not None
    namespace, name, port = found[1], found[2], int(found[3])
    if name == SERVICE:
        stage.relay(("127.0.0.1", port), "127.0.0.1", stage.prometheus_port)
    else:
        host = "jsonpath={.spec.clusterIP}"
        address = kubectl("-n", namespace, "get", "service", name, "-o", host)
        stage.relay(("127.0.0.1", port), address, port)
    return "sleep 3600 &"


def slow_down(_stage: Stage, _text: str) -> None:
    """Let the model take minutes for an answer."""
    kubectl("-n", MODELS, "annotate", "--overwrite", "service/llama", f"{MODEL}=hang")


def play_nvidia(stage: Stage, _text: str) -> str:
    """Install NVIDIA's operator."""
    install_reference(stage, NVIDIA)
    return "true"


def end_nvidia(stage: Stage, _text: str) -> str:
    """Remove its Deployment."""
    stage.stop_operator()
    return f"kubectl -n {NVIDIA} delete deployment nim-operator-k8s-nim-operator"


def hand_over(stage: Stage, _text: str) -> None:
    """Make what our operator wrote for NVIDIA's the latter's, before the takeover."""
    if stage.operator:
        hand_to_reference(stage, NVIDIA, MODELS)


def resume_nvidia(stage: Stage, text: str) -> None:
    """Play NVIDIA's operator again, after the way back."""
    if "yes=true" in text:
        stage.start_operator()


SUBSTITUTES = (
    Substitute(
        r"helm repo ",
        "`helm repo add`",
        "nothing: there is no way out of the machine",
        skip,
    ),
    Substitute(
        r"helm install eg ",
        "`helm install eg …`",
        "Envoy Gateway as a [neighbor](neighbors.md#gateways), without its GatewayClass",
        offer_gateways,
        neighbor="gateway",
    ),
    Substitute(r"helm uninstall eg ", "`helm uninstall eg …`", "nothing", skip),
    Substitute(
        r"helm install prometheus ",
        "`helm install prometheus …`",
        "a real Prometheus, which reads the ServiceMonitors and PrometheusRules of the cluster; "
        "no Prometheus operator and no Grafana",
        start_prometheus,
        programs=("prometheus",),
    ),
    Substitute(
        r"helm install adapter ",
        "`helm install adapter …`",
        "a real prometheus-adapter, with the rules of the values",
        start_adapter,
        programs=("prometheus-adapter",),
    ),
    Substitute(
        r"helm uninstall adapter prometheus",
        "`helm uninstall adapter prometheus …`",
        "the end of both",
        stop_monitoring,
    ),
    Substitute(
        r"helm install nim-operator ",
        "`helm install nim-operator …`",
        "the Deployment of NVIDIA's operator with a simulated pod, its CRDs made of ours, and our "
        "operator in its place",
        play_nvidia,
    ),
    Substitute(
        r"helm uninstall nim-operator ",
        "`helm uninstall nim-operator …`",
        "the deletion of the Deployment",
        end_nvidia,
    ),
    Substitute(
        r"ansible-playbook nimops\.nim\.takeover -e manifests",
        "`ansible-playbook nimops.nim.takeover -e manifests=…`",
        "the same; before, the objects of the played operator become NVIDIA's, by "
        "`molecule/takeover/as_reference.py`",
        hand_over,
    ),
    Substitute(
        r"ansible-playbook nimops\.nim\.takeover -e back",
        "`ansible-playbook nimops.nim.takeover -e back=true …`",
        "the same; then our operator plays NVIDIA's again",
        after=resume_nvidia,
    ),
    Substitute(
        r"for question ",
        "`for question in …`",
        "the same; before, the simulated model gets slow",
        slow_down,
    ),
    Substitute(
        r"make dist/",
        "`make dist/…`",
        "nothing: it is made before, with access to a package registry",
        skip,
    ),
    Substitute(
        r"kubectl -n \S+ port-forward ",
        "`kubectl port-forward …`",
        "a relay to the simulated model or to Prometheus: simulated pods have no network",
        forward_port,
    ),
)


def find_substitute(text: str) -> Substitute | None:
    """The substitute of a command; None if it is typed as it is."""
    return next((it for it in SUBSTITUTES if re.match(it.pattern, text)), None)
