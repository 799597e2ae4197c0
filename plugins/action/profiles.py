# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""What a NIM image offers, and what of it fits; documented in plugins/modules/profiles.py."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.nimops.nim.plugins.module_utils._common.errors import NimError
from ansible_collections.nimops.nim.plugins.module_utils._common.manifest import (
    ModelManifest,
    parse_manifest,
)
from ansible_collections.nimops.nim.plugins.module_utils._k8s.client import ApiError, Client
from ansible_collections.nimops.nim.plugins.module_utils._nimcache.selection import is_choosy
from ansible_collections.nimops.nim.plugins.module_utils._verbs.inquiry import (
    Inquiry,
    ask_image,
    find_products,
    read_kept,
)
from ansible_collections.nimops.nim.plugins.module_utils._verbs.offers import list_offers, wish
from ansible_collections.nimops.nim.plugins.plugin_utils._verb import (
    CONNECTION_SPEC,
    VerbAction,
    heeding_signals,
    read_texts,
)

Json = dict[str, t.Any]


class ActionModule(VerbAction):
    """Reads; only for an image it makes a pod, which is gone afterwards."""

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
        """Print the table; fail if nothing fits."""
        client = self.connect(arguments)
        if arguments["image"] and self._task.check_mode:
            self.say(f"would make a pod that prints the model manifest of {arguments['image']}")
            return {"changed": False, "skipped": True}
        wanted = wish(arguments)
        manifest, kept = self._find_manifest(client, arguments)
        if manifest is None:
            return {"failed": True, "msg": f"{arguments['image']} has no model manifest"}
        wanted = kept | wanted
        products = arguments["gpu_products"]
        if products is None:
            is_needed = is_choosy(wanted, manifest.version) and not wanted.get("gpus")
            products = self._find_products(client) if is_needed else []
        found = list_offers(manifest, wanted, products)
        if arguments["output"] == "json":
            self.put(json.dumps(found.to_dict(), indent=2))
        else:
            self.put(found.to_text())
        for note in found.notes:
            self.say(note)
        result = {"changed": False} | found.to_dict()
        if found.fitting:
            return result
        return result | {"failed": True, "msg": f"none of {len(found.offers)} profiles fits"}

    def _find_manifest(self, client: Client, arguments: Json) -> tuple[ModelManifest | None, Json]:
        """The manifest, and what its NIMCache wants, if it is of one."""
        if arguments["manifest"]:
            texts = read_texts([arguments["manifest"]])
            if len(texts) > 1:
                raise NimError(f"manifest: {arguments['manifest']} holds more than one file")
            return parse_manifest(texts[0].content), {}
        namespace = arguments["namespace"] or client.namespace
        if arguments["nimcache"]:
            return read_kept(client, namespace, arguments["nimcache"])
        inquiry = Inquiry(
            image=arguments["image"],
            namespace=namespace,
            pull_secrets=arguments["pull_secrets"],
            service_account=arguments["service_account"],
            node_selector=arguments["node_selector"],
            tolerations=arguments["tolerations"],
            seconds=arguments["wait_timeout"],
        )
        with heeding_signals():
            return ask_image(client, inquiry, self.say), {}

    @staticmethod
    def _find_products(client: Client) -> list[str]:
        try:
            return find_products(client)
        except ApiError as error:
            raise NimError(
                f"{error} (give gpus or gpu_products to do without the nodes)"
            ) from error
