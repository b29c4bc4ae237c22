from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from asmevo.frontend.codeobject import load_file
from asmevo.frontend.profiles.counts import Counts, Method
from asmevo.frontend.profiles.matching import KernelProfile
from asmevo.frontend.recover import recover
from asmevo.ir.kernel import Kernel
from asmevo.report.html.page import page
from asmevo.report.subject import Subject
from browser import Browser, find_browser
from programs import kernel_of
from support import EXAMPLES

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"&"


def hostile_kernel() -> Kernel:
    """A kernel whose names try to break out of every place they are put."""
    kernel = kernel_of("s_cbranch_scc0 end\na:\nglobal_load_dword v1, v0, s[0:1]\nv_add_u32_e32 v2, v1, v1\nend:\ns_endpgm")
    names = {"a": f"a{HOSTILE}"}
    blocks = tuple(
        replace(b, label=names.get(b.label, b.label), successors=tuple(names.get(s, s) for s in b.successors))
        for b in kernel.blocks
    )
    return replace(kernel, name=HOSTILE, blocks=blocks)


class Reader(HTMLParser):
    """Collects elements, and checks that they nest."""

    VOID = ("meta", "input", "br", "path", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def test_hostile_names_stay_text() -> None:
    text = page(Subject(f"dir/{HOSTILE}.co", hostile_kernel()))
    reader = read(text)
    assert reader.names.count("script") == 2
    assert "img" not in reader.names
    assert not [name for _, name, _ in reader.attributes if name.startswith("on")]
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert HOSTILE in "".join(block[0] for block in json.loads(data[1])["blocks"])


def test_nothing_is_fetched_and_no_other_script_may_run() -> None:
    text = page(Subject("k.co", recover(load_file(EXAMPLES / "kernels" / "softmax.co"))))
    reader = read(text)
    for tag, name, value in reader.attributes:
        if name in ("src", "href"):
            assert value is not None
            assert value.startswith("#r"), (tag, name, value)
    assert "@import" not in text
    assert "url(http" not in text
    policy = next(
        value
        for tag, name, value in reader.attributes
        if tag == "meta" and name == "content" and "default-src" in (value or "")
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy)


def test_the_same_kernel_gives_the_same_page() -> None:
    kernel = recover(load_file(EXAMPLES / "kernels" / "reduce_sum.co"))
    assert page(Subject("k", kernel)) == page(Subject("k", kernel))


def test_the_size_is_bounded() -> None:
    body = "\n".join(f"v_add_u32_e32 v{n % 200}, v{(n * 7) % 200}, v{(n * 13) % 200}" for n in range(4000))
    assert len(page(Subject("k", kernel_of(f"{body}\ns_endpgm")))) < 4000 * 300 + 60_000


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium found; install it, or name one in ASMEVO_BROWSER")
    with Browser(path) as found:
        yield found


def test_a_measured_profile_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    kernel = recover(load_file(EXAMPLES / "kernels" / "softmax.co"))
    slow = next(n for n, i in enumerate(kernel.instructions()) if i.mnemonic == "s_barrier")
    uid = [i.uid for i in kernel.instructions()][slow]
    counts = Counts(samples=8, stalled=6, reasons={"barrier wait <b>": 6})
    measured = KernelProfile("p", Method.STOCHASTIC, {uid: counts}, counts, 0, 0, 0)
    path = tmp_path / "page.html"
    path.write_text(page(Subject("softmax.co", kernel, measured=measured)), encoding="utf-8")
    browser.events.clear()
    browser.open(path)
    assert browser.complaints() == []
    browser.run("document.querySelector('#measured a').click()")
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert browser.run("document.querySelector('.row.here')?.dataset.entry") == str(slow)
    assert browser.run("document.querySelector('.row.here').textContent").count("100.0%") == 1
    told = browser.run("document.getElementById('detail').textContent")
    assert "measured: 8 samples, 6 stalled: barrier wait <b> 6" in told
    assert "barrier wait <b> 6" in browser.run("document.getElementById('measured').textContent")


def test_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    kernel = recover(load_file(EXAMPLES / "kernels" / "attention_fwd.co"))
    path.write_text(page(Subject("attention_fwd.co", kernel)), encoding="utf-8")
    browser.events.clear()
    browser.open(path)
    assert browser.complaints() == []
    assert all(url.startswith("file:") for url in browser.requests())
    rows = "document.querySelectorAll('#space .row').length"
    assert 10 < browser.run(rows) < 200
    assert browser.run("document.querySelectorAll('canvas.live').length") > 0
    here = "document.querySelector('.row.here')?.dataset.entry"
    # The first finding; a later one; back.
    browser.press("n")
    first = browser.run(here)
    assert browser.run("document.getElementById('detail').textContent").startswith(("note[", "warning[", "error["))
    browser.press("n", "p")
    assert browser.run(here) == first
    # A loop folds: fewer rows in all, and going into it unfolds it.
    height = "document.getElementById('space').clientHeight"
    whole = browser.run(height)
    browser.press("f")
    assert browser.run(height) < whole
    browser.press("f")
    assert browser.run(height) == whole
    browser.press("f")
    link = "document.querySelector('#loops a')"
    browser.run(f"{link}.click()")
    target = browser.run(f"{link}.getAttribute('href')").removeprefix("#r")
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert browser.run(here) == target
    assert browser.run(height) == whole
    # A register is picked, and forgotten.
    browser.run("document.querySelector('.row.here ~ .row .reg, .row .reg').click()")
    assert browser.run("document.querySelectorAll('.reg.picked').length") > 0
    browser.press("Escape")
    assert browser.run("document.querySelectorAll('.reg.picked').length") == 0
    # Search.
    browser.run("(s => { s.value = 'v_mfma'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    assert int(browser.run("document.getElementById('hits').textContent").split()[0]) > 10
    # Both colour schemes differ, and the button overrides them.
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.dark(False)
    light = browser.run(ground)
    browser.dark(True)
    assert browser.run(ground) != light
    browser.run("document.getElementById('theme').click()")
    assert browser.run(ground) == light
    assert browser.complaints() == []


def test_hostile_names_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(page(Subject("k.co", hostile_kernel())), encoding="utf-8")
    browser.events.clear()
    browser.open(path)
    browser.press("n", "ArrowDown", "ArrowDown", "]")
    assert browser.run("document.title") == f"{HOSTILE}: asmevo analyze"
    assert browser.run("document.querySelectorAll('img, script').length") == 2
    assert browser.complaints() == []
