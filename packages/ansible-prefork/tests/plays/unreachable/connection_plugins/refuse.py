"""Refuses to connect."""

from __future__ import annotations

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

DOCUMENTATION = """
name: refuse
short_description: refuse
description: refuse
author: nobody
options:
  remote_addr:
    description: address
    vars:
      - name: ansible_host
"""


class Connection(ConnectionBase):
    transport = "refuse"
    has_pipelining = False

    def _connect(self):
        raise AnsibleConnectionFailure("refused by " + self.get_option("remote_addr"))

    def exec_command(self, cmd, in_data=None, sudoable=True):
        self._connect()

    put_file = fetch_file = exec_command

    def close(self):
        pass
