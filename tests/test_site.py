"""The built site: links that lead somewhere, pictures that say what they show, and what a reader does in a browser.

The tests look at build/site, which `make docs` builds, and skip where there is none. Those in a browser need Playwright
and a Chromium of the system as well: apt-get install chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "site"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]

SOURCES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
FENCED = re.compile(r"^[ \t]*(```+).*?^[ \t]*\1[ \t]*$", re.M | re.S)

built = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site; build it with: make docs")
in_browser = [
    built,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; install it with: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Elements(HTMLParser):
    """The links, pictures and anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(filter(None, (values.get("id"), values.get("name"))))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"] or "")
        if tag == "img":
            self.pictures.append((values.get("src") or "", values.get("alt") or ""))


@cache
def elements(page: Path) -> Elements:
    return Elements(page)


def pages() -> list[Path]:
    return sorted(SITE.rglob("*.html"))


def test_every_picture_in_the_documents_has_alternative_text() -> None:
    for page in SOURCES:
        text = page.read_text(encoding="utf-8")
        pictures = re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", FENCED.sub("", text))
        drawn = re.findall(r"^```\{drawn\} (\S+)\n(?::alt: (.*)\n)?", text, re.M)
        for words, picture in [*pictures, *((alt, name) for name, alt in drawn)]:
            assert words.strip(), f"{page}: {picture}"


@built
def test_every_picture_of_the_site_is_there_and_has_alternative_text() -> None:
    count = 0
    for page in pages():
        for source, words in elements(page).pictures:
            assert words.strip(), f"{page}: {source}"
            assert (page.parent / unquote(source)).exists(), f"{page}: {source}"
            count += 1
    assert count >= 20


@built
def test_every_link_of_the_site_leads_somewhere() -> None:
    count = 0
    for page in pages():
        for link in elements(page).links:
            address = urlsplit(link)
            if address.scheme:
                assert address.scheme in ("https", "mailto"), f"{page}: {link}"
                continue
            target = (page.parent / unquote(address.path)).resolve() if address.path else page
            assert target.is_file(), f"{page}: {link}"
            if address.fragment and target.suffix == ".html":
                assert unquote(address.fragment) in elements(target).anchors, f"{page}: {link}"
            count += 1
    assert count >= 1000


@built
def test_every_document_has_a_page() -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        path = source.relative_to(ROOT / "docs").with_suffix(".html")
        page = SITE / path if path.parts[0] == "zh" else SITE / "en" / path
        assert page.exists(), f"{page}: expected a page of {source}; run make docs"


class Quiet(SimpleHTTPRequestHandler):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments, directory=str(SITE))

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="no Playwright; install it with: pip install playwright")
    with sync.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


class Reader:
    """Someone who reads the site, and notes errors and requests to other hosts."""

    def __init__(
        self, browser: Any, address: str, *, locale: str = "en-GB", width: int = 1280, dark: bool = False
    ) -> None:
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, locale=locale, color_scheme=scheme, reduced_motion="reduce"
        )
        self.address, self.page, self.errors = address, self.context.new_page(), []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda asked: self._note(asked.url))

    def _note(self, url: str) -> None:
        if not url.startswith((self.address, "data:")):
            self.errors.append(url)

    def visit(self, path: str) -> Any:
        self.page.goto(self.address + path)
        return self.page

    def place(self) -> str:
        return str(self.page.url.removeprefix(self.address).partition("#")[0])


@pytest.fixture
def reader(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Reader]:
    reader = Reader(browser, address, **getattr(request, "param", {}))
    yield reader
    reader.context.close()
    assert reader.errors == []


class TestInBrowser:
    pytestmark = in_browser

    @pytest.mark.parametrize(
        ("reader", "place", "language"),
        [({"locale": "en-GB"}, "en/index.html", "en"), ({"locale": "zh-CN"}, "zh/index.html", "zh-CN")],
        indirect=["reader"],
    )
    def test_the_address_leads_to_the_readers_language(self, reader: Reader, place: str, language: str) -> None:
        page = reader.visit("")
        page.wait_for_url(f"**/{place}")
        assert page.locator("html").get_attribute("lang") == language
        assert page.locator("h1").first.inner_text().startswith("Tagline")

    @pytest.mark.parametrize(
        ("start", "end"),
        [
            ("en/index.html", "zh/index.html"),
            ("zh/learn/1-why-a-chain.html", "en/learn/1-why-a-chain.html"),
            ("en/learn/1-why-a-chain.html", "zh/learn/1-why-a-chain.html"),
            ("en/reference/command-line.html", "zh/reference/command-line.html"),
            ("en/internals/architecture.html", "zh/index.html"),
        ],
    )
    def test_the_switch_leads_to_the_same_page_or_to_the_first(self, reader: Reader, start: str, end: str) -> None:
        page = reader.visit(start)
        page.locator(".language-switch a").click()
        page.wait_for_url(f"**/{end}")

    @pytest.mark.parametrize(
        ("language", "query", "found"),
        [
            ("en", "label bias", "learn/5-the-family"),
            ("en", "log_partition", "reference/chain"),
            ("zh", "前向算法", "learn/2-a-chain-by-hand"),
            ("zh", "标注偏置", "learn/5-the-family"),
            ("zh", "CRF", "learn/5-the-family"),
        ],
    )
    def test_search_finds(self, reader: Reader, language: str, query: str, found: str) -> None:
        page = reader.visit(f"{language}/index.html")
        box = page.locator(".sidebar-search")
        box.fill(query)
        box.press("Enter")
        page.wait_for_function("document.querySelector('.search-summary')?.innerText.match(/[0-9]|one/)")
        places = page.locator("ul.search li > a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
        assert any(place.startswith(found) for place in places), places

    def test_search_does_not_find_what_is_not_there(self, reader: Reader) -> None:
        page = reader.visit("zh/search.html?q=紫色大象")
        page.wait_for_function("document.querySelector('.search-summary')?.innerText.length > 5")
        assert page.locator("ul.search li").count() == 0

    @pytest.mark.parametrize("reader", [{"width": 390}, {"width": 390, "dark": True}], indirect=True)
    @pytest.mark.parametrize(
        "place", ["en/index.html", "zh/index.html", "zh/learn/2-a-chain-by-hand.html", "en/reference/models.html"]
    )
    def test_a_phone_does_not_scroll_sideways(self, reader: Reader, place: str) -> None:
        page = reader.visit(place)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.locator(".language-switch a").is_visible()

    def test_a_chosen_theme_holds_for_pictures(self, reader: Reader) -> None:
        """The trellis is drawn in the colour of text: light on dark, though the system asks for light."""
        page = reader.visit("en/gallery.html")
        before = page.locator("img[alt^='A trellis']").screenshot()
        page.evaluate("document.body.dataset.theme = 'dark'")
        assert page.evaluate("getComputedStyle(document.querySelector('img')).colorScheme") == "dark"
        assert page.locator("img[alt^='A trellis']").screenshot() != before
        assert page.locator("img.only-dark").first.is_visible()
        assert not page.locator("img.only-light").first.is_visible()

    @pytest.mark.parametrize("reader", [{}, {"dark": True}], indirect=True, ids=["light", "dark"])
    @pytest.mark.parametrize(
        "place",
        ["en/index.html", "zh/learn/2-a-chain-by-hand.html", "en/reference/chain.html", "zh/search.html?q=前向算法"],
    )
    def test_axe_finds_nothing_serious(self, reader: Reader, place: str) -> None:
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        page = reader.visit(place)
        page.wait_for_load_state("networkidle")
        found = axe.Axe().run(page).response["violations"]
        serious = [violation for violation in found if violation["impact"] in ("serious", "critical")]
        assert not serious, [(each["id"], [node["html"] for node in each["nodes"][:3]]) for each in serious]
