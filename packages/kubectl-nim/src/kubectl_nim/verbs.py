# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0
"""The table of commands, from which parser, help, completion and reference page are made.

It imports nothing of the collection: `--help` and completion must be fast.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

Type = t.Literal["text", "number", "seconds", "switch", "list", "path", "pairs"]

TABLE, STRUCTURED = ("text",), ("json", "yaml")


@dataclass(frozen=True)
class Option:
    """An option. ``key`` is its name in the command's `spec`.

    A ``list`` can be repeated, and split with commas; ``pairs`` are a list of KEY=VALUE.
    """

    key: str
    help: str
    type: Type = "text"
    flags: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    completes: str = ""
    """The values that completion offers: `file`, `namespace`, or a kind of the API."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its flags, by default its key."""
        return self.flags or (f"--{self.key.replace('_', '-')}",)


@dataclass(frozen=True)
class Argument:
    """A positional argument. ``count``: 1, 0 (may be missing) or -1 (any number)."""

    key: str
    metavar: str
    count: int = 1
    completes: str = ""
    is_required: bool = False
    """Whether an argument with any number of values needs one."""


@dataclass(frozen=True)
class Verb:
    """A command. ``path``: module and class of the `Command` that it runs.

    The module is below `_commands` or, with a dot in front, below this package.

    ``scope``: `one` (the namespace of the context by default), `many` (also all namespaces), or
    `cluster`.
    """

    name: str
    path: str
    help: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    scope: t.Literal["one", "many", "cluster"] = "one"
    outputs: tuple[str, ...] = ()
    """The formats of `--output`, the default first."""
    is_local: bool = False
    """Whether it contacts no cluster."""
    can_dry_run: bool = False
    must_confirm: bool = False
    """Whether it only shows what it would do, until the user confirms or gives `--yes`."""
    fixed: t.Mapping[str, t.Any] | None = None
    """Values of the command's `spec` that the verb sets."""
    implied: t.Mapping[str, str] | None = None
    """Switches of the command's `spec`, each with the option that turns it on."""
    fails_if: t.Callable[[t.Mapping[str, t.Any]], bool] | None = None
    """Whether a command that did not fail ends with exit code 1, by its result."""
    fail_option: Option | None = None
    """A switch that turns `fails_if` on; without one it is always on."""
    needs_files: bool = False
    example: str = ""

    @property
    def own_options(self) -> tuple[Option, ...]:
        """The options that no other verb shares."""
        return (*self.options, self.fail_option) if self.fail_option else self.options


_RESOURCES = (Argument("resources", "KIND/NAME...", -1, "resource", is_required=True),)
_FILES = Argument("files", "[FILE]...", -1, "file")
_FILENAME = Option(
    "files", "A file or folder with custom resources, or - for stdin", "list",
    ("-f", "--filename"), "FILE", completes="file",
)  # fmt: skip
_WAIT_TIMEOUT = Option("wait_timeout", "The longest wait", "seconds", ("--timeout",))
_SELECTOR = Option("selector", "A label selector", flags=("-l", "--selector"), metavar="SELECTOR")
_NO_WAIT = Option("wait", "Do not wait", "switch", ("--no-wait",))
_WAIT = (
    Option("wait", "Without an operator, do not wait until Ready", "switch", ("--no-wait",)),
    Option("wait_timeout", "Without an operator, the longest wait", "seconds", ("--timeout",)),
)
_FACTS = Option(
    "facts", "A file with objects that the cluster would contain, such as nodes", "list",
    metavar="FILE", completes="file",
)  # fmt: skip
_NODES = (
    Option("systems", "An operating system of the nodes, such as ubuntu22.04", "list",
           ("--system",)),
    Option("kernels", "A kernel of the nodes", "list", ("--kernel",)),
)  # fmt: skip
_REGISTRIES = (
    Option("auth_file", "A file with credentials, by default Docker's", "path", metavar="FILE",
           completes="file"),
    Option("ca_file", "A file with certificate authorities to trust", "path", metavar="FILE",
           completes="file"),
    Option("plain_http", "A registry to access over http", "list", metavar="HOST"),
)  # fmt: skip
_OPERATOR_NAMESPACE = Option(
    "operator_namespace", "The namespace of the operator", completes="namespace"
)

VERBS: tuple[Verb, ...] = (
    Verb(
        "install", "install.command:InstallCommand",
        "Install CRDs, policies, roles and, with --image, the operator",
        options=(
            Option("image", "The operator's image; without it no operator is installed",
                   metavar="IMAGE"),
            Option("components", "The parts to install: nemo, gpu", "list", ("--component",)),
            Option("watch_namespaces", "A namespace that the operator serves; default: all", "list",
                   ("--watch-namespace",), "NAMESPACE", completes="namespace"),
            _NO_WAIT, _WAIT_TIMEOUT,
        ),
        scope="cluster", can_dry_run=True, fixed={"state": "present"},
        implied={"operator": "image"}, example="kubectl nim install",
    ),
    Verb(
        "uninstall", "install.command:InstallCommand",
        "Remove what install created",
        options=(
            Option("release", "Also remove the finalizers that the operator left", "switch",
                   ("--release-finalizers",)),
            _WAIT_TIMEOUT,
        ),
        scope="cluster", can_dry_run=True, must_confirm=True, fixed={"state": "absent"},
        example="kubectl nim uninstall --yes",
    ),
    Verb(
        "apply", "apply.command:ApplyCommand",
        "Apply custom resources, and wait until they are Ready",
        (_FILES,), (_FILENAME, _NO_WAIT, _WAIT_TIMEOUT), can_dry_run=True,
        fixed={"state": "present"}, needs_files=True, example="kubectl nim apply -f nim.yaml",
    ),
    Verb(
        "plan", "plan.command:PlanCommand",
        "Show what apply, or without files the next reconcile, changes",
        (_FILES,), (_FILENAME,), scope="many", outputs=TABLE + STRUCTURED,
        fails_if=lambda result: result["changed"],
        fail_option=Option("fail_on_changes", "Exit with 1 if something would change", "switch"),
        example="kubectl nim plan -f nim.yaml",
    ),
    Verb(
        "preflight", "preflight.command:PreflightCommand",
        "Check whether custom resources can run in the cluster",
        (_FILES,), (_FILENAME,), outputs=TABLE + STRUCTURED,
        fails_if=lambda result: not result["runnable"],
        needs_files=True, example="kubectl nim preflight -f nim.yaml",
    ),
    Verb(
        "render", "render.command:RenderCommand",
        "Print the objects that custom resources become, without a cluster",
        (_FILES,),
        (
            _FILENAME, _FACTS,
            Option("native_images", "An image whose engine reads the model directly", "list",
                   ("--native-image",), "IMAGE"),
            Option("output_dir", "Write one file per object to this folder", "path",
                   metavar="FOLDER", completes="file"),
        ),
        outputs=("yaml", "json"), is_local=True, can_dry_run=True,
        needs_files=True, example="kubectl nim render -f nim.yaml",
    ),
    Verb(
        "status", ".status:StatusView",
        "List resources with state, reason, model and endpoint",
        (Argument("resources", "[KIND/NAME]...", -1, "resource"),),
        (
            _SELECTOR,
            Option("watch", "Continue with each change", "switch", ("-w", "--watch")),
        ),
        scope="many", outputs=("text", "wide", "json", "yaml", "name"),
        example="kubectl nim status --all-namespaces",
    ),
    Verb(
        "wait", "wait.command:WaitCommand",
        "Wait until resources are Ready, or deleted",
        (Argument("resources", "[KIND/NAME]...", -1, "resource"),),
        (
            Option("for", "A condition such as Ready, or deleted", metavar="CONDITION"),
            _SELECTOR,
            Option("timeout", "The longest wait", "seconds"),
        ),
        scope="many", example="kubectl nim wait nimservice/llama --timeout 30m",
    ),
    Verb(
        "ask", "ask.command:AskCommand",
        "Ask a model one question, and show how fast it answers",
        (
            Argument("name", "[[KIND/]NAME]", 0, "NIMService"),
            Argument("prompt", "[PROMPT]", 0),
        ),
        (
            Option("prompt", "The question, or - for stdin; each further line is a passage for a"
                   " rerank model"),
            Option("model", "A model that the server lists, such as a LoRA adapter"),
            Option("task", "The request to send; by default what the model does",
                   choices=("chat", "completion", "embedding", "rerank")),
            Option("max_tokens", "The longest answer in tokens", "number"),
            Option("timeout", "The longest wait", "seconds"),
            Option("endpoint", "The URL of a model server, instead of the API server's proxy",
                   metavar="URL"),
        ),
        outputs=TABLE + STRUCTURED,
        example="kubectl nim ask llama",
    ),
    Verb(
        "logs", "logs.command:LogsCommand",
        "Print the log of the newest pod of a resource",
        (Argument("resource", "[KIND/]NAME", completes="resource"),),
        (
            Option("all_pods", "Print the logs of all pods, with their names", "switch"),
            Option("container", "A container, instead of the one that matters",
                   flags=("-c", "--container")),
            Option("follow", "Continue with new lines", "switch", ("-f", "--follow")),
            Option("previous", "The log before the last restart", "switch", ("-p", "--previous")),
            Option("tail", "The number of last lines", "number", metavar="LINES"),
        ),
        example="kubectl nim logs llama --follow",
    ),
    Verb(
        "scale", "scale.command:ScaleCommand",
        "Set the replicas of a service, or the limits of its autoscaler",
        (Argument("name", "[KIND/]NAME", completes="NIMService"),),
        (
            Option("replicas", "The number of replicas", "number"),
            Option("min", "The fewest replicas of the autoscaler", "number"),
            Option("max", "The most replicas of the autoscaler", "number"),
            *_WAIT,
        ),
        can_dry_run=True, example="kubectl nim scale llama --replicas 2",
    ),
    Verb(
        "pause", "pause.command:PauseCommand",
        "Leave the objects of resources alone, until resume",
        _RESOURCES, _WAIT, can_dry_run=True, example="kubectl nim pause nimservice/llama",
    ),
    Verb(
        "resume", "pause.command:ResumeCommand",
        "Reconcile paused resources again",
        _RESOURCES, _WAIT, can_dry_run=True, example="kubectl nim resume nimservice/llama",
    ),
    Verb(
        "reconcile", "pause.command:ReconcileCommand",
        "Reconcile resources now",
        _RESOURCES, _WAIT, can_dry_run=True, example="kubectl nim reconcile nimservice/llama",
    ),
    Verb(
        "delete", "delete.command:DeleteCommand",
        "Delete resources, after showing what goes with them",
        (Argument("resources", "[KIND/NAME]...", -1, "resource"),),
        (
            _FILENAME,
            Option("yes", "Also delete data, such as downloaded models", "switch", ("-y", "--yes")),
            Option("ignore_not_found", "Do not fail if a resource is missing", "switch"),
            _NO_WAIT, _WAIT_TIMEOUT,
        ),
        can_dry_run=True, example="kubectl nim delete nimservice/llama",
    ),
    Verb(
        "profiles", "profiles.command:ProfilesCommand",
        "Show the profiles of a model, and why each fits or not",
        options=(
            Option("manifest", "A file with a model manifest", metavar="FILE", completes="file"),
            Option("nimcache", "A NIMCache", metavar="NAME", completes="NIMCache"),
            Option("image", "An image, which a pod in the cluster prints the manifest of",
                   metavar="IMAGE"),
            Option("engine", "The engine of the profiles"),
            Option("tensor_parallelism", "The number of GPUs of a profile"),
            Option("precision", "The precision of the profiles"),
            Option("qos_profile", "The optimization", choices=("latency", "throughput")),
            Option("gpu_products", "A GPU product, instead of those of the nodes", "list",
                   ("--gpu-product",)),
            Option("pull_secrets", "A Secret that pulls the image", "list", ("--pull-secret",)),
            Option("service_account", "The ServiceAccount of the pod"),
            Option("node_selector", "A label of the pod's nodes", "pairs", metavar="KEY=VALUE"),
            _WAIT_TIMEOUT,
        ),
        outputs=TABLE + STRUCTURED, can_dry_run=True,
        fails_if=lambda result: result.get("fitting") == [],
        example="kubectl nim profiles --nimcache llama",
    ),
    Verb(
        "images", "images.command:ImagesCommand",
        "List the images to mirror",
        (_FILES,),
        (_FILENAME, _FACTS, *_NODES),
        outputs=TABLE + STRUCTURED, is_local=True,
        example="kubectl nim images -f nim.yaml",
    ),
    Verb(
        "model-files", "model_files.command:ModelFilesCommand",
        "List the models that are downloaded, of files or of the cluster",
        (_FILES,), (_FILENAME, _FACTS), scope="many", outputs=TABLE + STRUCTURED,
        example="kubectl nim model-files -f nim.yaml",
    ),
    Verb(
        "bundle", "bundle.command:BundleCommand",
        "Pack images and models into a folder, for a cluster without Internet access",
        (_FILES,),
        (
            Option("path", "The folder, which is completed if it exists", "path",
                   ("-o", "--output"), "FOLDER", completes="file"),
            _FILENAME, _FACTS, *_NODES,
            Option("images", "One more image, such as that of the operator", "list", ("--image",),
                   "IMAGE"),
            Option("models", "A folder with a model, and its name in the mirror", "pairs",
                   ("--model",), "NAME=FOLDER"),
            *_REGISTRIES,
        ),
        is_local=True, can_dry_run=True,
        example="kubectl nim bundle -f nim.yaml --output bundle",
    ),
    Verb(
        "unbundle", "bundle.unbundle_command:UnbundleCommand",
        "Push a bundle to a mirror, and print the new references",
        (Argument("bundle", "FOLDER", completes="file"),),
        (
            Option("to", "The registry, with a prefix of repository names if there is one",
                   metavar="REGISTRY"),
            Option("hosts_dir", "A folder in which to write containerd's configuration", "path",
                   metavar="FOLDER", completes="file"),
            *_REGISTRIES,
        ),
        scope="cluster", outputs=TABLE + STRUCTURED, is_local=True, can_dry_run=True,
        example="kubectl nim unbundle bundle --to registry.example.com/mirror",
    ),
    Verb(
        "gather", "gather.command:GatherCommand",
        "Collect the data that support needs in one file, without secrets",
        (Argument("resource", "[KIND/NAME]", 0, "resource"),),
        (
            Option("path", "The file, or its folder", "path", metavar="PATH", completes="file"),
            Option("max_mib", "The largest size in MiB", "number"),
            _OPERATOR_NAMESPACE, _WAIT_TIMEOUT,
        ),
        scope="many", outputs=TABLE + STRUCTURED, can_dry_run=True,
        example="kubectl nim gather nimservice/llama",
    ),
    Verb(
        "report", "report.command:ReportCommand",
        "Write a report about resources and GPUs as an HTML file, without secrets",
        options=(
            Option("path", "The file, or - for stdout", flags=("-o", "--output"), metavar="FILE",
                   completes="file"),
            Option("plan", "Leave out what the next reconcile changes", "switch", ("--no-plan",)),
        ),
        scope="many", example="kubectl nim report --all-namespaces",
    ),
    Verb(
        "takeover", "takeover.command:TakeoverCommand",
        "Take the cluster over from NVIDIA's operator, or give it back",
        options=(
            Option("manifests", "A file with the operator's objects", "list", ("--manifest",),
                   "FILE", completes="file"),
            Option("back", "Give the cluster back", "switch"),
            Option("backup", "The file to back up to, or with --back to restore from",
                   metavar="FILE", completes="file"),
            _OPERATOR_NAMESPACE, _WAIT_TIMEOUT,
        ),
        scope="cluster", can_dry_run=True, must_confirm=True,
        fails_if=lambda result: bool(result.get("lost")),
        example="kubectl nim takeover --manifest operator.yaml",
    ),
    Verb(
        "release", "release.command:ReleaseCommand",
        "Remove the operator's finalizers when the operator is gone",
        options=(_OPERATOR_NAMESPACE,), scope="many", can_dry_run=True, must_confirm=True,
        example="kubectl nim release --all-namespaces",
    ),
    Verb(
        "gpu status", "gpu.status_command:GpuStatusCommand",
        "Show what each GPU node waits for, since when, and the remedy",
        options=(Option("max_logs", "The most container logs to read", "number"),),
        scope="cluster", outputs=TABLE + STRUCTURED, example="kubectl nim gpu status",
    ),
    Verb(
        "gpu upgrade-plan", "gpu.upgrade_plan_command:GpuUpgradePlanCommand",
        "Show which nodes a driver upgrade drains, and which services lose pods",
        options=(
            Option("assume_outdated", "Count all drivers as outdated", "switch"),
            Option("guard", "Whether the services' guard is on", choices=("auto", "on", "off")),
        ),
        scope="cluster", outputs=TABLE + STRUCTURED,
        fails_if=lambda result: bool(result["problems"]),
        fail_option=Option(
            "fail_on_problems", "Exit with 1 if a node would not be upgraded", "switch"
        ),
        example="kubectl nim gpu upgrade-plan",
    ),
)  # fmt: skip


GROUPS = {"gpu": "GPU nodes and their drivers"}
"""The first words of verbs of two words."""
