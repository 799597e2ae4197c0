# Copyright (c) 2026 The nimops.nim authors
# SPDX-License-Identifier: Apache-2.0

"""Drives Chromium with its DevTools protocol over a pipe: no driver, no port, no network."""

from __future__ import annotations

import base64
import contextlib
import json
import mimetypes
import os
import select
import shutil
import subprocess
import tempfile
import time
import typing as t
from pathlib import Path

Json = dict[str, t.Any]

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
    "--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
_SECONDS = 60
_KEYS: dict[str, Json] = {
    "Tab": {"code": "Tab", "windowsVirtualKeyCode": 9},
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    " ": {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
}


class BrowserError(Exception):
    """Chromium ended, did not answer in time, or refused a command."""


def find_chromium() -> str:
    """The program; empty if there is none: `apt-get install chromium`."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), "") or ""


def _isolation() -> list[str]:
    """A command that runs another one without any network; empty where that is not permitted."""
    command = (
        ["unshare", "--net", "--"]
        if os.geteuid() == 0
        else ["unshare", "--map-root-user", "--net", "--"]
    )
    if not shutil.which("unshare"):
        return []
    done = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if done.returncode == 0 else []


def open_browser(outcomes: t.Any) -> Browser:
    """A browser of 1280 by 900 pixels.

    ``outcomes``: pytest, with which a test is skipped, or fails under CI, if there is no Chromium.
    """
    if program := find_chromium():
        browser = Browser(program)
        browser.resize(1280, 900)
        return browser
    end = outcomes.fail if os.environ.get("CI") else outcomes.skip
    raise end("Chromium is missing: apt-get install chromium")


class Browser:
    """A browser with one page. ``events``: what it reported, by method."""

    def __init__(self, program: str) -> None:
        self.events: list[Json] = []
        self._number = 0
        self._data = b""
        self._session = ""
        self._served = ("", Path())
        self._folder = tempfile.TemporaryDirectory(
            prefix="nimops-chromium-", ignore_cleanup_errors=True
        )
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        command = [
            *_isolation(), "bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", program,
            *_OPTIONS, *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--user-data-dir={self._folder.name}", "about:blank",
        ]  # fmt: skip
        self._process = subprocess.Popen(
            command, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(item["targetId"] for item in targets if item["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser, and remove its profile."""
        with contextlib.suppress(BrowserError, OSError):
            self._session = ""
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, 9)
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def call(self, method: str, **parameters: t.Any) -> Json:
        """Run a command of the protocol, and return its result."""
        number = self._send(method, parameters)
        answer = self._wait(lambda item: item.get("id") == number)
        return t.cast(Json, answer["result"])

    def _send(self, method: str, parameters: Json) -> int:
        self._number += 1
        message: Json = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        return self._number

    def _wait(self, fits: t.Callable[[Json], bool]) -> Json:
        deadline = time.monotonic() + _SECONDS
        while True:
            item = self._read(deadline)
            if "method" in item:
                self.events.append(item)
            if item.get("method") == "Fetch.requestPaused":
                self._answer(item["params"])
            if fits(item):
                if "error" in item:
                    raise BrowserError(item["error"]["message"])
                return item

    def _read(self, deadline: float) -> Json:
        while b"\0" not in self._data:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise BrowserError(f"no answer within {_SECONDS} s")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise BrowserError("Chromium ended")
            self._data += part
        text, _zero, self._data = self._data.partition(b"\0")
        return t.cast(Json, json.loads(text))

    def serve(self, address: str, folder: Path) -> None:
        """Answer requests below an address, such as ``http://a.test/``, with files of a folder."""
        self._served = address, folder
        self.call("Fetch.enable", patterns=[{"urlPattern": f"{address}*"}])

    def _answer(self, paused: Json) -> None:
        """Answer a request, without a wait for what the browser says to that."""
        address, folder = self._served
        name = paused["request"]["url"].removeprefix(address).partition("?")[0].partition("#")[0]
        file = folder / name
        found: Json = {"requestId": paused["requestId"], "responseCode": 404}
        if file.is_file():
            kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
            found |= {
                "responseCode": 200,
                "responseHeaders": [{"name": "Content-Type", "value": kind}],
                "body": base64.b64encode(file.read_bytes()).decode(),
            }
        self._send("Fetch.fulfillRequest", found)

    def open(self, page: Path | str) -> None:
        """Load a file or an address, and forget earlier events."""
        self.events.clear()
        self.call("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        if not any(item["method"] == "Page.loadEventFired" for item in self.events):
            self._wait(lambda item: item.get("method") == "Page.loadEventFired")

    def run(self, expression: str) -> t.Any:
        """The value of an expression in the page, as plain data. An exception is an error."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise BrowserError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key: Tab, Enter, space, or a character."""
        known = _KEYS.get(key) or {"text": key}
        fields = {"key": key, "modifiers": 8 if shift else 0, **known}
        self.call("Input.dispatchKeyEvent", type="keyDown", **fields)
        fields.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **fields)

    def emulate(self, *, scheme: str = "light", media: str = "") -> None:
        """Prefer a color scheme, and show the page as on a medium such as print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip

    def take_screenshot(self) -> bytes:
        """The visible part of the page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def print_pdf(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def problems(self) -> list[str]:
        """Errors and warnings of the console, exceptions, dialogs, and requests beside the page."""
        found = []
        documents = 0
        for item in self.events:
            method, given = item["method"], item["params"]
            if method == "Log.entryAdded" and given["entry"]["level"] in ("warning", "error"):
                found.append(given["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(f"console.{given['type']}: {given['args']}")
            elif method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
                found.append(str(given))
            elif method == "Network.requestWillBeSent":
                documents += 1
                if documents > 1 or given.get("type") != "Document":
                    found.append(f"request: {given['request']['url'][:200]}")
        return found
