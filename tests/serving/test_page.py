"""The page in a real browser: its four views, fixed labels, Chinese, hostile tokens, a service that goes away.

The tests need Playwright and a Chromium of the system: apt-get install chromium. Where there is none they are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tagline
from tagline.datasets import make_entities
from tagline.serving.app import create_app

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; install it with: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
TEXT = "Maria Lindqvist met Peter Oduya in Oslo."


class Served:
    """A service in this process that can be stopped and started again at the same address."""

    def __init__(self, models: dict[str, Any]) -> None:
        self.models, self.port = models, 0
        self.server: Any = None

    def start(self) -> None:
        import uvicorn

        config = uvicorn.Config(create_app(self.models), port=self.port, log_level="error", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()
        end = time.monotonic() + 30
        while not self.server.started and time.monotonic() < end:
            time.sleep(0.02)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


@pytest.fixture(scope="module")
def served(crf: Any, trigram: Any) -> Iterator[Served]:
    other = tagline.CRF("U00:%x[0,0]\nU01:%x[-1,0]\nB\n", scheme="IOB2").fit(make_entities(200, language="en"))
    chinese = tagline.CRF("chinese_ner", scheme="auto", max_iterations=15).fit(make_entities(200, language="zh"))
    service = Served({"names": crf, "plain": other, "zh": chinese, "pos": trigram})
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="no Playwright; install it with: pip install playwright")
    with sync.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Any, served: Served) -> Iterator[Any]:
    """A page that fails the test where it writes an error, or asks another host."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, locale="en-GB")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    opened.on(
        "request", lambda request: None if request.url.startswith((served.url, "data:")) else errors.append(request.url)
    )
    opened.errors = errors
    yield opened
    context.close()
    assert errors == []


def until(page: Any, condition: str, arg: Any = None, seconds: float = 20) -> None:
    """Wait for a condition, asked from outside: the page's own policy lets no text become code."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition if arg is not None else f"() => {condition}", arg):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(30)


def visit(page: Any, served: Served, **state: str) -> None:
    from urllib.parse import urlencode

    page.goto(f"{served.url}#{urlencode({'text': TEXT, **state})}")
    page.wait_for_selector("html[data-ready]")


def label_of(page: Any, token: int) -> str:
    """The label that the details say of a token."""
    page.click(f"#output [data-token='{token}']")
    word = page.inner_text(f"#output [data-token='{token}']")
    until(page, "word => document.querySelector('#details h3')?.textContent.startsWith(word)", arg=word)
    return str(page.inner_text("#details h3 .quiet"))


def test_entities_are_coloured_while_one_types(page: Any, served: Served, crf: Any) -> None:
    visit(page, served)
    page.fill("#text", "")
    page.type("#text", "Maria Lindqvist lives in Oslo.", delay=5)
    expected = [f"{e.text}" for e in crf.tag("Maria Lindqvist lives in Oslo.").entities]
    until(page,
        "count => document.querySelectorAll('#output .entity').length === count && "
        "document.querySelector('#output').textContent.includes('Oslo')", arg=len(expected),
    )  # fmt: skip
    shown = [re.sub(r" ?[A-Z]+ [\d.]+ %$", "", text) for text in page.locator("#output .entity").all_inner_texts()]
    assert [text.replace(" ", "") for text in shown] == [text.replace(" ", "") for text in expected]
    until(page, "location.hash.includes('Maria')")
    assert "text=Maria" in page.url


def test_a_fixed_label_changes_its_neighbours(page: Any, served: Served) -> None:
    visit(page, served)
    assert label_of(page, 1) == "I-PER"
    label_of(page, 0)
    with page.expect_response(lambda response: "v1/tag" in response.url and '"known":[{' in response.request.post_data):
        page.click("#details [data-fix='O']")
    page.wait_for_selector("#output [data-token='0'].fixed")
    assert label_of(page, 1) != "I-PER"
    until(page, "location.hash.includes('known=')")
    link = page.url
    page.goto("about:blank")
    page.goto(link)  # the permalink keeps what was fixed
    page.wait_for_selector("#output [data-token='0'].fixed")
    page.click("#details button:has-text('Free all')")
    page.wait_for_selector("#output [data-token='0']:not(.fixed)")
    assert label_of(page, 1) == "I-PER"


def test_the_keyboard_is_enough(page: Any, served: Served) -> None:
    visit(page, served)
    page.focus("#output")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#output [data-token='1'].active")
    page.wait_for_selector("#details [data-fix]")
    page.focus("#details [data-fix='O']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#output [data-token='1'].fixed")
    until(page, "document.activeElement.dataset.fix === 'O'")  # and one stays where one was


def test_answers_can_be_taken_away(page: Any, served: Served, crf: Any) -> None:
    visit(page, served)
    page.wait_for_selector("#output .entity")

    def copied(name: str) -> str:
        page.click(f"#copies button:text-is('{name}')")
        until(page, "document.querySelector('#status').textContent !== ''")
        return str(page.evaluate("navigator.clipboard.readText()"))

    assert json.loads(copied("JSON"))["text"] == TEXT
    tagged = crf.tag(TEXT)
    assert copied("Columns") == "".join(f"{token.text}\t{token.label}\n" for token in tagged.tokens)
    assert "[Maria Lindqvist](PER)" in copied("Brackets")
    assert copied("curl").startswith("curl -s 'http://127.0.0.1:")
    program = copied("Python")
    from io import StringIO

    output = StringIO()
    with contextlib.redirect_stdout(output):
        exec(program, {})
    assert "Maria Lindqvist" in output.getvalue()


def test_the_trellis_plays(page: Any, served: Served) -> None:
    visit(page, served, view="trellis")
    page.wait_for_selector("#trellis svg .best")
    assert page.locator("#trellis .cell").count() == 8 * 9
    assert page.locator("#trellis .hatch").count() > 0
    page.select_option("#show", "viterbi")
    page.click("[data-cell='3-3']")
    rows = page.locator("#cell table tr").all_inner_texts()
    assert len(rows) == 9
    assert sum("★" in row for row in rows) == 1
    page.select_option("#show", "forward")
    before = page.input_value("#step")
    page.click("#play")
    until(page, "before => document.querySelector('#step').value !== before", arg=before)
    page.click("#play")
    width = page.evaluate("document.querySelector('#trellis svg').clientWidth")
    page.click("button:text-is('Larger')")
    assert page.evaluate("document.querySelector('#trellis svg').clientWidth") > width


def test_the_model_shows_what_it_has_learned(page: Any, served: Served, crf: Any) -> None:
    visit(page, served, view="model")
    page.wait_for_selector("#heat table")
    assert page.locator("#heat tbody tr").count() == 9
    assert page.locator("#heat .forbidden").count() > 0
    shown = {row.split("\t")[0]: row.split("\t")[1:] for row in page.inner_text("#type-scores tbody").splitlines()}
    types = crf.training_.dev["types"]
    assert shown == {
        name: [*(f"{100 * scores[score]:.2f}" for score in ("precision", "recall", "f1")), str(scores["gold"])]
        for name, scores in types.items()
    }
    page.select_option("#feature-label", "B-PER")
    best = crf.view(1, ["B-PER"]).features["B-PER"][0].attribute
    until(page, "name => document.querySelector('#features li .name')?.textContent.includes(name)", arg=best)
    page.fill("#feature-search", "no such feature")
    until(page, "document.querySelector('#features').textContent.includes('None')")
    page.select_option("#model", "pos")
    until(page, "document.querySelector('#facts').textContent.includes('trigram')")
    assert page.is_hidden("#types")


def test_two_models_are_compared(page: Any, served: Served) -> None:
    visit(page, served, view="compare", other="plain", text="Maria Oduya saw Xavier in Lima and Zork.")
    page.wait_for_selector("#sides .side:nth-child(2) .output")
    until(page, "document.querySelector('#agreement').textContent !== ''")
    page.select_option("#other", "names")
    until(page, "document.querySelector('#agreement').textContent.startsWith('Both')")
    assert page.locator("#sides .differs").count() == 0


def test_chinese_in_text_and_page(page: Any, served: Served) -> None:
    visit(page, served, model="zh", text="")
    page.click("#language")
    assert page.inner_text("nav a[data-view=try]") == "试用"
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.focus("#text")
    page.fill("#text", "")
    page.wait_for_timeout(500)
    # An input method: while it is at work nothing is asked; when it is done, the text is taken.
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "v1/tag" in request.url else None)
    page.evaluate(
        """() => {
          const area = document.querySelector('#text');
          area.dispatchEvent(new CompositionEvent('compositionstart'));
          area.value = 'wang';
          area.dispatchEvent(new InputEvent('input', { isComposing: true, bubbles: true }));
        }"""
    )
    page.wait_for_timeout(400)
    assert asked == []
    page.evaluate(
        """() => {
          const area = document.querySelector('#text');
          area.value = '王小明住在北京。';
          area.dispatchEvent(new CompositionEvent('compositionend', { data: '王小明住在北京。' }));
        }"""
    )
    until(page, "document.querySelectorAll('#output .token').length === 8")


def test_tokens_never_become_html(page: Any, served: Served) -> None:
    evil = "<img src=x onerror=alert(1)> met Maria"
    page.on("dialog", lambda dialog: page.errors.append("dialog"))
    visit(page, served, text=evil)
    until(page, "document.querySelector('#output').textContent.includes('onerror')")
    label_of(page, 0)
    for view in ("trellis", "compare", "try"):
        page.click(f"nav a[data-view={view}]")
        page.wait_for_timeout(200)
    assert page.locator("main img").count() == 0


def test_a_service_that_goes_away_is_told_and_comes_back(browser: Any, crf: Any) -> None:
    service = Served({"names": crf})
    service.start()
    opened = browser.new_page()
    try:
        visit(opened, service)
        service.stop()
        opened.fill("#text", "Anna lives in Rome.")
        until(opened, "document.querySelector('#status').textContent.includes('does not answer')")
        assert "Maria" in opened.inner_text("#output")  # what was there stays
        service.start()
        until(opened, "document.querySelector('#output').textContent.includes('Rome')", seconds=20)
        until(opened, "document.querySelector('#status').textContent === ''")
    finally:
        opened.close()
        with contextlib.suppress(AttributeError):
            service.stop()


def test_a_long_text_does_not_freeze_it(page: Any, served: Served) -> None:
    visit(page, served)
    page.evaluate(
        """text => { const area = document.querySelector('#text'); area.value = text;
                     area.dispatchEvent(new InputEvent('input', { bubbles: true })); }""",
        "Maria Lindqvist met Peter Oduya in Oslo. " * 1250,
    )
    until(page, "document.querySelectorAll('#output .token').length === 10000", seconds=30)
    slowest = page.evaluate(
        """async () => {
          let worst = 0;
          for (let n = 0; n < 10; n += 1) {
            const before = performance.now();
            await new Promise(requestAnimationFrame);
            worst = Math.max(worst, performance.now() - before);
          }
          return worst;
        }"""
    )
    assert slowest < 1000


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 800, 1280])
def test_it_can_be_read_by_everybody(page: Any, served: Served, width: int, theme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="pip install axe-playwright-python")
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    visit(page, served)
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    for view in ("try", "trellis", "model", "compare"):
        page.click(f"nav a[data-view={view}]")
        if view == "try":
            label_of(page, 0)
            page.wait_for_selector("#details .bars")
        page.wait_for_timeout(300)
        page.evaluate(script)  # by the debugger's door: the page itself lets no foreign script in
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        serious = [
            (rule["id"], [node["html"][:90] for node in rule["nodes"][:3]])
            for rule in found
            if rule["impact"] in ("serious", "critical")
        ]
        assert serious == [], view
        across = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert across <= 0, f"{view} is wider than the window"


def test_both_languages_have_all_texts() -> None:
    text = (Path(tagline.__file__).parent / "serving" / "page" / "words.js").read_text(encoding="utf-8")
    parts = re.split(r"\n  (en|zh): \{", text)
    names = {parts[n]: set(re.findall(r"(\w+): \"", parts[n + 1])) for n in (1, 3)}
    assert names["en"] == names["zh"]
    folder = Path(tagline.__file__).parent / "serving" / "page"
    used = {
        name
        for path in folder.glob("*.*")
        for name in re.findall(r"(?:say\(|data-text=|data-label=)\"(\w+)\"", path.read_text(encoding="utf-8"))
    }
    assert used <= names["en"]
