#!/usr/bin/python
from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.own_utils import VERSION

AnsibleModule(argument_spec={}).exit_json(changed=False, version="module version 1, " + VERSION)
