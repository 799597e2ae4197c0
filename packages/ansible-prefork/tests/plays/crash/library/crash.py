#!/usr/bin/python
"""Ends in many ways."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"how": {"type": "str"}, "work": {"type": "str"}})
    how = module.params["how"]
    with open(os.path.join(module.params["work"], "crashed-" + how), "w") as file:
        file.write("{}\n{}\n".format(module.tmpdir is not None, len(sys.argv)))
    if how == "raise":
        raise RuntimeError("räised")
    if how == "garbage":
        print("this is nöt JSON")
        sys.exit(0)
    if how == "exit":
        sys.exit(7)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)
    if how == "stderr":
        sys.stderr.write("to stderr\n")
        os.write(2, b"raw to stderr\n")
        module.fail_json(msg="failed in order", changed=True)
    if how == "warn":
        module.warn("warned by a module")
        module.deprecate("deprecated by a module", version="9.9", collection_name="ansible.builtin")
    if how == "trailing":
        print("before")
        sys.stdout.flush()
        os.write(1, b"raw before\n")
    if how == "thread":
        threading.Thread(target=time.sleep, args=(0.2,)).start()
    if how == "exec":
        sys.stdout.flush()
        os.execv("/bin/sh", ["sh", "-c", 'echo \'{"changed": true, "by": "sh"}\''])
    if how != "nothing":
        module.exit_json(changed=False, main=sys.modules["__main__"].__name__)


if __name__ == "__main__":
    main()
