"""A headless Chromium driven over its own pipe (DevTools protocol), with nothing installed beside it. For tests only.

Source: Chrome DevTools Protocol, domains Page, Runtime, Input, Emulation; --remote-debugging-pipe reads JSON from descriptor 3
and writes to 4, each message ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT_S = 60.0


def find_browser() -> str | None:
    """The browser named by ASMEVO_BROWSER, or the first one on the path; None when there is none."""
    return os.environ.get("ASMEVO_BROWSER") or next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One page in a browser of its own. Use as a context manager."""

    def __init__(self, path: str, width: int = 1400, height: int = 900) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="asmevo-browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def descriptors() -> None:
            # The two ends must be 3 and 4 in the child, whatever they are here.
            first, second = os.dup(to_browser), os.dup(from_browser)
            os.dup2(first, 3)
            os.dup2(second, 4)

        words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
        words += ["--no-first-run", f"--user-data-dir={self._profile.name}", f"--window-size={width},{height}", "about:blank"]
        self._process = subprocess.Popen(
            [path, *words], preexec_fn=descriptors, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._buffer = b""
        self.events: deque[dict[str, Any]] = deque()
        """What the page said unasked: log entries, exceptions, requests."""
        self._session: str | None = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise EOFError("the browser is gone")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def size(self, width: int, height: int) -> None:
        """Sets the size of the page in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, wanted: bool) -> None:
        """Says which colour scheme the reader prefers."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path, fragment: str = "") -> None:
        """Loads a file and waits until it is there."""
        self.call("Page.navigate", url=path.resolve().as_uri() + fragment)
        deadline = time.monotonic() + TIMEOUT_S
        ready = "document.readyState === 'complete' && location.protocol === 'file:'"
        while not self.run(ready):
            if time.monotonic() > deadline:
                raise TimeoutError("the page does not load")
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Presses keys by name (`n`, `ArrowDown`, `Enter`)."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path: Path) -> None:
        """Writes what is to be seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """What the page logged as an error, or threw."""
        found: list[str] = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"]))
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
        return found

    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
