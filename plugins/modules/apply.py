#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apply
author: The nimops.nim authors (@nimops)
short_description: Put custom resources into a cluster, and wait until they are Ready
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster.files
  - nimops.nim._cluster.connection
  - nimops.nim._cluster.attributes
description:
  - Writes custom resources of C(apps.nvidia.com) by server-side apply and reconciles them as the operator does, until
    all are Ready. It needs no operator in the cluster, and does no harm to one.
  - Tells on stderr how each state changes. Fails with the reason if one has failed, or if time is up.
  - In check mode it says what M(nimops.nim.plan) would say, with C(--diff) as Ansible's differences.
notes:
  - As a command, C(ansible-playbook nimops.nim.apply -e files=nim.yaml). It exits with 0 if all are Ready, with 2 if
    not, with 4 if it could not even begin.
  - Without an operator nobody keeps the objects as they are afterwards; run it again to have that.
  - A model is asked for its name through its Service; where that cannot be reached, through the API server, for which
    C(get) on C(services/proxy) is needed.
attributes:
  diff_mode:
    description: Will return details on what has changed or possibly needs changing in C(check_mode).
    support: full
options:
  wait:
    description: Whether to wait until all are Ready. If not, each is reconciled once.
    type: bool
    default: true
  wait_timeout:
    description: For how many seconds to wait. Models are large, so downloads can take an hour.
    type: int
    default: 1800
"""

EXAMPLES = r"""
- name: Serve a model
  nimops.nim.apply:
    files: [nim.yaml]
    namespace: nim
    wait_timeout: 3600
"""

RETURN = r"""
states:
  description: The state of each custom resource, those that a NIMPipeline made included.
  returned: when not in check mode
  type: dict
  sample: {"NIMService nim/llm": "Ready"}
"""
