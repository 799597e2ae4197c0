"""Does what an action plugin should not."""

from __future__ import annotations

import os
import signal
import sys

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

display = Display()


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        what = self._task.args["what"]
        return {**result, **(getattr(self, "_do_" + what)(task_vars) or {})}

    def _do_print(self, _vars):
        print("printed ünï")

    def _do_stderr(self, _vars):
        print("printed to stderr", file=sys.stderr)

    def _do_raw(self, _vars):
        os.write(1, b"raw to stdout\n")
        os.write(2, b"raw to stderr\n")

    def _do_shell(self, _vars):
        return {"code": os.system("echo by a shell; echo to stderr by a shell >&2")}

    def _do_environ(self, _vars):
        os.environ["DO_LEFT"] = "left"
        os.environ.pop("CASE_WORD", None)

    def _do_cwd(self, _vars):
        os.chdir("/")

    def _do_umask(self, _vars):
        os.umask(0o077)

    def _do_signals(self, _vars):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, lambda *_: None)

    def _do_path(self, _vars):
        sys.path.insert(0, "/nowhere")

    def _do_display(self, _vars):
        display.display("displayed")
        display.vv("displayed when verbose")
        display.warning("warned by an action")
        self._display.error("displayed as an error")

    def _do_warn(self, _vars):
        display.warning("warned by an action")
        display.deprecated("deprecated by an action", version="9.9")

    def _do_raise(self, _vars):
        raise AnsibleError("raised by an action")

    def _do_fail(self, _vars):
        return {"failed": True, "msg": "failed by an action"}

    def _do_stdin(self, _vars):
        return {"stdin_closed": sys.stdin is None or sys.stdin.closed, "cat": os.popen("cat").read()}

    def _do_object(self, _vars):
        return {"object": object()}

    def _do_variables(self, variables):
        variables["nothing_new"] = 1
        self._task.args["what"] = "changed"
        self._task.name = "renamed"
        return {"ansible_facts": {"fact_of_action": 1}}

    def _do_look(self, _vars):
        umask = os.umask(0o022)
        os.umask(umask)
        return {
            "seen": {
                "left": os.environ.get("DO_LEFT", "nothing"),
                "word": os.environ.get("CASE_WORD", "nothing"),
                "cwd": os.path.basename(os.getcwd()),
                "umask": umask,
                "interrupt": str(signal.getsignal(signal.SIGALRM)),
                "path": "/nowhere" in sys.path,
            }
        }
