#!/usr/bin/python
# Copyright (c) 2026 The nimops.nim authors
# Apache License 2.0 or, as ansible-test asks of modules, GNU General Public License v3.0+ (see
# https://www.gnu.org/licenses/gpl-3.0.txt), at your choice
# SPDX-License-Identifier: Apache-2.0 OR GPL-3.0-or-later

"""Documentation of the action plugin of the same name, which does the work."""

from __future__ import annotations

DOCUMENTATION = r"""
module: observe
author: The nimops.nim authors (@nimops)
short_description: Read everything that a custom resource depends on
version_added: 0.1.0
extends_documentation_fragment:
  - nimops.nim._cluster
  - nimops.nim._cluster.attributes
description:
  - Reads, in one task, the children of a custom resource of C(apps.nvidia.com) and whatever else decides
    what they should be. This includes node labels, the NIMCache that is used, the log of a probe pod and the
    answer of a model that is up.
  - Writes nothing. Secrets are read only to ask an image registry, and are not returned.
"""

EXAMPLES = r"""
- name: Read what a NIMService depends on
  nimops.nim.observe:
    resource: "{{ nim }}"
  register: seen

- name: Show what would be written
  ansible.builtin.debug:
    msg: "{{ nim | nimops.nim.plan(seen.observed) }}"
"""

RETURN = r"""
observed:
  description: The answers. An object stands under C(Kind/name) and is null if it does not exist.
  returned: success
  type: dict
"""
