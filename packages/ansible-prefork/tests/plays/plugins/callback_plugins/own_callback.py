from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: own_callback
type: aggregate
short_description: prints
description: prints
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "own_callback"

    def v2_playbook_on_start(self, playbook):
        self.results = 0
        self._display.display("callback version 1")

    def v2_runner_on_ok(self, result):
        self.results += 1

    def v2_playbook_on_stats(self, stats):
        self._display.display("callback saw %s results" % self.results)
