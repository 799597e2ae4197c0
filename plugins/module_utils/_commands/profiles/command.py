# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Lists the profiles of a NIM image."""

from __future__ import annotations

import json
import typing as t

from ..._base.errors import ApiError, NimError
from ..._base.types import Json
from ..._cluster.client import Client
from ..._nim.profiles.model_manifest import (
    ModelManifest,
    parse_manifest,
)
from ..._nim.profiles.profile_selection import (
    filters_by_gpu,
)
from ..command import CONNECTION_SPEC, Command
from ..files import read_texts
from ..signals import raise_on_signals
from .manifest_lookup import (
    ImageLookup,
    ask_image,
    find_products,
    read_stored,
)
from .profile_table import (
    list_offers,
    to_model,
)


class ProfilesCommand(Command):
    """Reads profiles; for an image it creates a pod, and deletes it afterwards."""

    spec = CONNECTION_SPEC | {
        "manifest": {"type": "str"},
        "nimcache": {"type": "str"},
        "image": {"type": "str"},
        "namespace": {"type": "str"},
        "gpus": {"type": "list", "elements": "raw", "default": []},
        "engine": {"type": "str"},
        "tensor_parallelism": {"type": "str"},
        "precision": {"type": "str"},
        "qos_profile": {"type": "str", "choices": ["latency", "throughput"]},
        "lora": {"type": "bool"},
        "buildable": {"type": "bool"},
        "gpu_products": {"type": "list", "elements": "str"},
        "pull_secrets": {"type": "list", "elements": "str", "default": []},
        "service_account": {"type": "str", "default": "default"},
        "node_selector": {"type": "dict"},
        "tolerations": {"type": "list", "elements": "dict", "default": []},
        "wait_timeout": {"type": "int", "default": 600},
        "output": {"type": "str", "choices": ["text", "json"], "default": "text"},
    }
    rules: t.ClassVar[Json] = {
        "mutually_exclusive": [["manifest", "nimcache", "image"]],
        "required_one_of": [["manifest", "nimcache", "image"]],
    }

    def act(self, arguments: Json) -> Json:
        """Print the table, even if no profile fits."""
        client = self.connect(arguments)
        if arguments["image"] and self.is_dry:
            self.print_message(
                f"would create a pod that prints the model manifest of {arguments['image']}"
            )
            return {"changed": False, "skipped": True}
        wanted = to_model(arguments)
        manifest, kept = self._find_manifest(client, arguments)
        if manifest is None:
            return {"failed": True, "msg": f"{arguments['image']} has no model manifest"}
        wanted = kept | wanted
        products = arguments["gpu_products"]
        if products is None:
            is_needed = filters_by_gpu(wanted, manifest.version) and not wanted.get("gpus")
            products = self._find_products(client) if is_needed else []
        found = list_offers(manifest, wanted, products)
        if arguments["output"] == "json":
            self.print_data(json.dumps(found.to_dict(), indent=2))
        else:
            self.print_data(found.to_text())
        for note in found.notes:
            self.print_message(note)
        return {"changed": False} | found.to_dict()

    def _find_manifest(self, client: Client, arguments: Json) -> tuple[ModelManifest | None, Json]:
        """The manifest, and the criteria of its NIMCache, if it has one."""
        if arguments["manifest"]:
            texts = read_texts([arguments["manifest"]])
            if len(texts) > 1:
                raise NimError(f"manifest: {arguments['manifest']} contains more than one file")
            return parse_manifest(texts[0].content), {}
        namespace = arguments["namespace"] or client.namespace
        if arguments["nimcache"]:
            return read_stored(client, namespace, arguments["nimcache"])
        lookup = ImageLookup(
            image=arguments["image"],
            namespace=namespace,
            pull_secrets=arguments["pull_secrets"],
            service_account=arguments["service_account"],
            node_selector=arguments["node_selector"],
            tolerations=arguments["tolerations"],
            seconds=arguments["wait_timeout"],
        )
        with raise_on_signals():
            return ask_image(client, lookup, self.print_message), {}

    @staticmethod
    def _find_products(client: Client) -> list[str]:
        try:
            return find_products(client)
        except ApiError as error:
            hint = "set gpus or gpu_products to avoid reading nodes"
            raise ApiError(error.status, f"{error} ({hint})") from error
