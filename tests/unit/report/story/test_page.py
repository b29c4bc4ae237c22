import json
import re

import pytest

from asmevo.report.story.page import page
from asmevo.report.story.text import lines
from browser import Browser, find_browser
from stories import told

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">'\"&\x1b[31m"


def test_hostile_texts_stay_text():
    text = page(told(3, HOSTILE, HOSTILE))
    assert text.count("<script") == 2
    assert "<img" not in text
    assert "\x1b" not in text
    assert not [line for line in lines(told(3, HOSTILE, HOSTILE), edits=True) if "\x1b" in line]
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert any("<img" in one for one in data["strings"])


def test_nothing_is_fetched():
    text = page(told(3))
    assert "default-src 'none'" in text
    assert not re.findall(r'(?:src|href)="(?!#n)[^"]*"', text)
    assert "url(" not in text


def test_the_same_story_gives_the_same_page():
    assert page(told(4)) == page(told(4))


def test_a_thousand_candidates_stay_below_five_megabytes():
    assert (
        len(page(told(1000, description="an edit of some length at L_0100[0:205], the best of 1688 orders")).encode())
        < 5_000_000
    )


def test_the_text_says_that_nothing_was_measured():
    shown = "\n".join(lines(told(3), edits=True))
    assert "nothing was measured" in shown
    assert "node 3 from node 1" in shown
    assert "note: a note" in shown


@pytest.fixture(scope="module")
def browser():
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium found; install it, or name one in ASMEVO_BROWSER")
    with Browser(path) as found:
        yield found


def test_in_a_browser(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(told(5)), encoding="utf-8")
    browser.events.clear()
    browser.open(path)
    title = "document.querySelector('#detail h2').textContent"
    assert browser.run(title) == "Node 5 (the best)"
    browser.press("ArrowUp")
    assert browser.run(title) == "Node 4"
    browser.press("Home")
    assert browser.run(title) == "Node 1"
    browser.press("b", "p")
    assert browser.run(title) == "Node 1"
    browser.run(
        "document.querySelector('#tree .node[data-node=\"3\"]').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert browser.run(title) == "Node 3"
    assert browser.run("document.querySelector('#tree .node[data-node=\"3\"]').getAttribute('aria-selected')") == "true"
    assert browser.run("document.querySelectorAll('.diff tr').length") > 3
    assert browser.run("document.querySelectorAll('.moved-to').length") > 0
    assert "assumes a move" in browser.run("document.querySelector('.evidence').textContent")
    assert browser.run("document.querySelectorAll('.stalls tr').length") == 2
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.dark(False)
    light = browser.run(ground)
    browser.dark(True)
    assert browser.run(ground) != light
    browser.press("t")
    assert browser.run(ground) == light
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints() == []
    assert all(url.startswith("file:") for url in browser.requests())


def test_a_link_to_a_candidate_opens_it(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(page(told(5)), encoding="utf-8")
    browser.open(path, "#n2")
    assert browser.run("document.querySelector('#detail h2').textContent") == "Node 2"


def test_hostile_texts_in_a_browser(browser, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(page(told(3, HOSTILE, HOSTILE)), encoding="utf-8")
    browser.events.clear()
    browser.open(path)
    browser.press("ArrowUp", "ArrowDown")
    assert "owned" not in browser.run("document.title").replace("document.title='owned'", "")
    assert browser.run("document.querySelectorAll('img, script').length") == 2
    assert browser.complaints() == []
