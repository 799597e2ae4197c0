# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Options and attributes that our plugins share."""

from __future__ import annotations


class ModuleDocFragment:
    """Named by `extends_documentation_fragment`."""

    DOCUMENTATION = r"""
options:
  resource:
    description:
      - The custom resource, as the API server returns it.
      - If it only has C(kind), C(metadata.name) and C(metadata.namespace), and no C(spec), it is read from the cluster.
      - Keys that begin with C(__ansible) are rejected, because Ansible reserves them. They are removed from objects that
        are read.
    type: dict
    required: true
"""

    ATTRIBUTES = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: none
"""

    ACTION_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/nimops.nim.nim) in C(module_defaults) to set defaults for this module.
    support: full
    membership: [nimops.nim.nim]
"""

    KUBECONFIG = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file.
      - By default E(K8S_AUTH_KUBECONFIG), then E(KUBECONFIG), then the service account of the pod.
    type: path
  context:
    description: The context of the kubeconfig to use.
    type: str
requirements:
  - kubernetes >= 24.2.0
  - urllib3 >= 2.0
"""

    COMMAND = r"""
options: {}
notes:
  - If no API server answers, or there is no usable kubeconfig, the result is C(unreachable). Any other error is
    C(failed). As a command, it exits with 4 in the first case, and with 2 in the second.
"""

    RESOURCES = r"""
options:
  files:
    description:
      - YAML or JSON files, or folders of such files.
      - Objects of other kinds in them are ignored.
      - Stdin (C(-) or C(/dev/stdin)) is rejected, as Ansible's workers have none.
      - Only one of O(files), O(definition) and O(definition_variable) may be given.
    type: list
    elements: str
  definition:
    description:
      - The content of such a file, as YAML or JSON text, an object, or a list of objects.
      - Ansible evaluates templates in the value in a playbook, and in the variables that it uses, but not in registered
        results of tasks. If a variable contains untrusted text, use O(definition_variable) instead.
    type: raw
  definition_variable:
    description:
      - The name of a variable whose value is used like O(definition). If there is no such variable, the option is ignored.
      - The value is used unchanged. Templates in it are not evaluated.
    type: str
  namespace:
    description: The namespace of resources without one. By default the namespace of the context.
    type: str
"""

    OUTPUT = r"""
options:
  output:
    description: The format.
    type: str
    choices: [text, json]
    default: text
"""

    REGISTRIES = r"""
options:
  auth_file:
    description:
      - A file with credentials of registries, in the format of Docker's C(config.json).
      - By default the one in E(DOCKER_CONFIG) or C(~/.docker), then that of E(REGISTRY_AUTH_FILE), then that of podman.
        Credential helpers are not supported.
    type: path
  ca_file:
    description: A file with certificate authorities in PEM format to trust beside those of the system.
    type: path
  plain_http:
    description: The registries, as host and port, to access over C(http) instead of C(https).
    type: list
    elements: str
    default: []
notes:
  - The proxies in E(HTTPS_PROXY), E(HTTP_PROXY) and E(NO_PROXY) are used.
  - Credentials are only sent to their registry and to the token service that it names, never along a redirect to another host.
requirements:
  - urllib3 >= 2.0
"""

    CUSTOM_RESOURCE = r"""
options:
  state:
    description: Whether the custom resource exists.
    type: str
    choices: [present, absent]
    default: present
  name:
    description: Its name.
    type: str
    required: true
  namespace:
    description: Its namespace. By default the namespace of the context.
    type: str
  labels:
    description: Its labels. Labels of others stay; those that this module set before and that are missing here are removed.
    type: dict
  annotations:
    description: Its annotations, with the same rule as O(labels).
    type: dict
  wait:
    description: Whether to wait until it is Ready or, with O(state=absent), until it is gone.
    type: bool
    default: true
  wait_timeout:
    description: How many seconds to wait. Models are large, so downloads can take an hour.
    type: int
    default: 1800
"""
