# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Options and attributes that our modules share."""

from __future__ import annotations


class ModuleDocFragment:
    """Named by `extends_documentation_fragment`."""

    DOCUMENTATION = r"""
options:
  resource:
    description:
      - The custom resource, as the API server gives it.
      - Without C(spec), with C(kind), C(metadata.name) and C(metadata.namespace) alone, it is read from the cluster.
      - Keys that begin with C(__ansible) are refused, as Ansible takes them for its own. In what is read they are left
        out.
    type: dict
    required: true
"""

    CONNECTION = r"""
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

    FILES = r"""
options:
  files:
    description:
      - Files of YAML or JSON, folders of such, or C(-) for stdin.
      - Objects of other kinds in them are passed over.
    type: list
    elements: str
    required: true
  namespace:
    description: The namespace of resources that name none. By default that of the context.
    type: str
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
