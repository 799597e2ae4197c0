# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""An inventory of the models that a cluster serves."""

from __future__ import annotations

DOCUMENTATION = r"""
name: endpoints
author: The nimops.nim authors (@nimops)
short_description: NIMServices of a cluster as hosts, with URL and model
version_added: 0.1.0
description:
  - Each NIMService that is Ready is a host, named by its name and namespace, such as C(llm.nim). All are in the group C(nim_endpoints).
  - A host is an address to send requests to, not a machine to log in to. So C(ansible_connection) is V(local), and tasks such as
    M(ansible.builtin.uri) run on the controller, with the Python of Ansible.
  - It needs C(list) on NIMServices in all namespaces or in O(namespaces). Without the CRD of NIMService, the inventory is empty, with a
    warning.
  - The variables of a host are V(nim_name), V(nim_namespace), V(nim_url), V(nim_cluster_url), V(nim_external_url), V(nim_model),
    V(nim_models), V(nim_labels), V(nim_state), V(nim_ready), V(nim_reason) and V(nim_message). V(nim_url) is the URL from outside the
    cluster or, if the model is not exposed, the one inside. It begins with V(http://) unless the status has another scheme; O(compose) can
    change it.
  - Text from the cluster is never evaluated as a template.
notes:
  - The name of the file ends in C(nim.yml) or C(nim.yaml).
  - Whoever can label a NIMService decides to which groups of O(keyed_groups) it belongs, so give each a prefix.
extends_documentation_fragment:
  - constructed
  - inventory_cache
  - nimops.nim._cluster.kubeconfig
options:
  plugin:
    description: The name of this plugin.
    type: str
    required: true
    choices: [nimops.nim.endpoints]
  namespaces:
    description: The namespaces of the NIMServices. By default all.
    type: list
    elements: str
    default: []
  label_selectors:
    description: Selectors of labels, such as V(team=search) or V(!test). A NIMService must match all.
    type: list
    elements: str
    default: []
  include_not_ready:
    description: Whether to include NIMServices that are not Ready. Their C(nim_url) can be empty.
    type: bool
    default: false
"""

EXAMPLES = r"""
# all.nim.yml: all models of the cluster
plugin: nimops.nim.endpoints

---
# search.nim.yml: those of a team, in groups such as namespace_nim and model_meta_llama_3_1_8b_instruct
plugin: nimops.nim.endpoints
namespaces: [nim, rag]
label_selectors: [team=search]
keyed_groups:
  - prefix: namespace
    key: nim_namespace
  - prefix: model
    key: nim_models
groups:
  exposed: nim_external_url != ''
compose:
  nim_chat_url: nim_url ~ '/v1/chat/completions'
"""

import sys
import typing as t

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.nimops.nim.plugins.module_utils._base.errors import ApiError
from ansible_collections.nimops.nim.plugins.module_utils._cluster.client import Client
from ansible_collections.nimops.nim.plugins.module_utils._commands.resource.endpoints import (
    find_endpoints,
    host_of,
)

GROUP = "nim_endpoints"


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Lists NIMServices, unless the cache has them."""

    NAME = "nimops.nim.endpoints"

    def verify_file(self, path: str) -> bool:
        """Whether a file is meant for this plugin, by its name."""
        return super().verify_file(path) and path.endswith(("nim.yml", "nim.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Ansible's entry point."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        key, is_cached = self.get_cache_key(path), self.get_option("cache")
        found = self._cache.get(key) if is_cached and cache else None
        if found is None:
            found = self._find()
            if is_cached:
                self._cache[key] = found
        self.inventory.add_group(GROUP)
        for variables in found:
            self._add(variables)

    def _find(self) -> list[dict[str, t.Any]]:
        """The variables of the hosts."""
        try:
            found = find_endpoints(
                Client(self.get_option("kubeconfig"), self.get_option("context")),
                self.get_option("namespaces"),
                self.get_option("label_selectors"),
                include_not_ready=self.get_option("include_not_ready"),
            )
        except ApiError as error:
            raise AnsibleParserError(f"{self.NAME}: {error}") from error
        if found is None:
            self.display.warning(f"{self.NAME}: the cluster does not know the kind NIMService")
        return found or []

    def _add(self, variables: dict[str, t.Any]) -> None:
        """Add a host. Its variables are text from the cluster, and no templates."""
        host = host_of(variables)
        self.inventory.add_host(host, group=GROUP)
        self.inventory.set_variable(host, "ansible_connection", "local")
        self.inventory.set_variable(host, "ansible_python_interpreter", sys.executable)
        for name, value in variables.items():
            self.inventory.set_variable(host, name, wrap_var(value))
        strict, known = self.get_option("strict"), wrap_var(variables)
        self._set_composite_vars(self.get_option("compose"), known, host, strict=strict)
        known = self.inventory.get_host(host).get_vars()
        self._add_host_to_composed_groups(self.get_option("groups"), known, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), known, host, strict=strict)
