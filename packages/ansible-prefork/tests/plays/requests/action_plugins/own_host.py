from __future__ import annotations

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Asks the strategy to change the inventory, as plugins may since ansible-core 2.21."""

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        changed = self.add_host("added", parent_group_names=["new"], host_vars={"of_host": 1})
        return {**result, "changed": changed and self.add_group("joined", parent_group_names=[])}
