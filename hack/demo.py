# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Bring up a Ready NIM on the sandbox from scratch, and show the progress.

This needs the sandbox's environment (KUBECONFIG, PATH), which `make demo` sets. It starts the
operator and the model server, applies the samples of the README, follows both custom resources
until they are Ready, and leaves everything running; `--down` stops all of it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
import typing as t
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / "build" / "demo"
NAMESPACE = "nim-demo"
SAMPLES = ("apps_v1alpha1_nimcache.yaml", "apps_v1alpha1_nimservice.yaml")
KINDS = ("nimcache", "nimservice")
CHILDREN = (
    "jobs,deployments,services,persistentvolumeclaims,configmaps,serviceaccounts,roles,rolebindings"
)
OURS = "app.kubernetes.io/managed-by=k8s-nim-operator"
MODEL = "meta/llama-3.2-1b-instruct"

Json = dict[str, t.Any]


class DemoError(Exception):
    """The demo cannot continue; the message has the reason and advice."""


def log(text: str) -> None:
    print(text, flush=True)


def kubectl(*arguments: str, stdin: str | None = None, check: bool = True) -> str:
    """The output of kubectl; DemoError with its stderr if it fails."""
    done = subprocess.run(
        ["kubectl", *arguments], input=stdin, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise DemoError(f"kubectl {' '.join(arguments[:3])}: {done.stderr.strip()}")
    return done.stdout


# --- processes -----------------------------------------------------------------------------------


def process(verb: str, name: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a verb (start, stop, is_running) of hack/process.sh on a process of the demo."""
    script = str(ROOT / "hack" / "process.sh")
    return subprocess.run(
        [script, str(STATE), verb, name, *command],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def is_running(name: str) -> bool:
    """Whether a process that this program started is still running."""
    return process("is_running", name).returncode == 0


def wait_for_operator(seconds: float) -> None:
    """Wait until the operator's readiness endpoint answers."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_running("operator"):
            raise DemoError(f"the operator ended:\n{tail(STATE / 'operator.log')}")
        try:
            with urllib.request.urlopen("http://127.0.0.1:8081/readyz", timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise DemoError(f"the operator is not ready after {seconds:g} s: see {STATE}/operator.log")


def tail(path: Path, lines: int = 15) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])


# --- the steps -----------------------------------------------------------------------------------


def apply_samples() -> None:
    """Apply the namespace, the two Secrets that the samples refer to, and the samples."""
    kubectl("apply", "-f", "-", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    ))  # fmt: skip
    for name, key in (("ngc-secret", ".dockerconfigjson"), ("ngc-api-secret", "NGC_API_KEY")):
        kind = "kubernetes.io/dockerconfigjson" if key.startswith(".") else "Opaque"
        value = '{"auths": {}}' if key.startswith(".") else "not-a-real-key"
        kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": {key: value},
        }))  # fmt: skip
    for sample in SAMPLES:
        kubectl("apply", "-n", NAMESPACE, "-f", str(ROOT / "config" / "samples" / sample))


def describe(resource: Json) -> str:
    """One line about the state of a custom resource."""
    status = resource.get("status") or {}
    state = status.get("state") or "(new)"
    name = f"{resource['kind']}/{resource['metadata']['name']}"
    messages = [
        condition["message"].strip()
        for condition in status.get("conditions") or []
        if condition["type"] in ("Reconciling", "Stalled") and condition.get("message")
    ]
    return f"{name:45} {state:12} {messages[0][:110] if messages else ''}".rstrip()


def follow(seconds: float) -> None:
    """Print each change of a state until both kinds are Ready."""
    began, seen = time.monotonic(), dict[str, str]()
    while time.monotonic() - began < seconds:
        items = json.loads(kubectl("get", ",".join(KINDS), "-n", NAMESPACE, "-o", "json"))["items"]
        for item in items:
            line = describe(item)
            if seen.get(item["metadata"]["uid"]) != line:
                seen[item["metadata"]["uid"]] = line
                log(f"  {time.monotonic() - began:5.1f} s  {line}")
        states = [(item.get("status") or {}).get("state") for item in items]
        if len(states) == len(KINDS) and set(states) == {"Ready"}:
            return
        if not is_running("operator"):
            raise DemoError(f"the operator ended:\n{tail(STATE / 'operator.log')}")
        time.sleep(0.4)
    events = kubectl("get", "events", "-n", NAMESPACE, "--sort-by=.lastTimestamp")
    raise DemoError(f"not Ready after {seconds:g} s; the namespace's events:\n{events}")


def fetch(url: str) -> str:
    """The response of an endpoint, using curl if it is installed."""
    if curl := shutil.which("curl"):
        return subprocess.run(
            [curl, "--silent", "--show-error", "--noproxy", "*", "--max-time", "5", url],
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def show_result() -> None:
    log("\n# the result")
    for kind in KINDS:
        log(kubectl("get", kind, "-n", NAMESPACE, "-o", "wide").rstrip())
    log("\n# the objects that the operator created")
    log(kubectl("get", CHILDREN, "-n", NAMESPACE, "-l", OURS).rstrip())
    services = json.loads(kubectl("get", "nimservice", "-n", NAMESPACE, "-o", "json"))["items"]
    url = f"http://{services[0]['status']['model']['clusterEndpoint']}/v1/models"
    log(f"\n# curl {url}")
    log(fetch(url))


def show_next_steps() -> None:
    name = "meta-llama-3-2-1b-instruct"
    log(f"""
# next steps (the operator keeps running; its log is build/demo/operator.log)
eval "$(make sandbox | tail -n 1)"
kubectl -n {NAMESPACE} patch nimservice {name} --type merge -p '{{"spec": {{"replicas": 2}}}}'
kubectl -n {NAMESPACE} delete service {name}         # is recreated
kubectl -n {NAMESPACE} describe nimservice {name}
# clean up
make demo-down       # the demo's objects, the operator, the model server
make sandbox-down    # the control plane""")


def run(seconds: float) -> None:
    """The whole demo."""
    STATE.mkdir(parents=True, exist_ok=True)
    log("# start the operator")
    process("start", "operator", str(ROOT / "hack" / "operator.sh"))
    process("start", "model-server", sys.executable, "sandbox/model_server.py", "--model", MODEL)
    wait_for_operator(60)
    log(f"# apply a NIMCache and a NIMService (config/samples/{SAMPLES[0]}, {SAMPLES[1]})")
    apply_samples()
    follow(seconds)
    show_result()
    show_next_steps()


def down() -> None:
    """Undo the demo: delete its namespace while the operator runs, then stop the processes."""
    if is_running("operator"):
        gone = ("--ignore-not-found", "--timeout=60s")
        kubectl("delete", "namespace", NAMESPACE, *gone, check=False)
    for name in ("operator", "model-server"):
        if process("stop", name).stdout:
            log(f"stopped the {name}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--down", action="store_true", help="stop the processes and remove the objects of the demo"
    )
    parser.add_argument("--timeout", type=float, default=180, help="seconds to wait for Ready")
    arguments = parser.parse_args()
    try:
        down() if arguments.down else run(arguments.timeout)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
