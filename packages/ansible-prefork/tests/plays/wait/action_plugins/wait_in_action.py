import time

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        path = self._task.args["path"]
        with open(path + "/started", "w") as file:
            file.write("started\n")
        time.sleep(60)
        with open(path + "/ended", "w") as file:
            file.write("ended\n")
        return {}
