"""Take the pictures of the page: `python docs/draw_page.py`, with a Chromium of the system and Playwright.

A model is trained on the generated corpus, served in this process, and shown in light and dark.
"""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright

import tagline
from tagline.datasets import make_entities
from tagline.serving import create_app

IMAGES = Path(__file__).parent / "images"
TEXT = "Marta Lindqvist, who was born in Valparaiso, joined Baltic Energy in May 2019. She met Peter Oduya in Oslo."


def main() -> None:
    """Train, serve, look."""
    model = tagline.CRF("english_ner", scheme="IOB2", c2=0.1, algorithm="auto:delta=1e-3")
    model.fit(make_entities(2000, language="en"))
    server = uvicorn.Server(uvicorn.Config(create_app({"demo": model}), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/#text={TEXT}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for view, theme in (("try", "light"), ("trellis", "dark")):
            context = browser.new_context(viewport={"width": 1180, "height": 860}, color_scheme=theme)  # type: ignore[arg-type]
            page = context.new_page()
            page.goto(f"{url}&view={view}")
            page.wait_for_selector("html[data-ready]")
            if view == "try":
                page.click("#output [data-token='7']")
                page.wait_for_selector("#details .bars")
            else:
                page.wait_for_selector("#trellis svg")
            page.wait_for_timeout(400)
            page.screenshot(path=str(IMAGES / f"page-{view}.png"))
        browser.close()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
