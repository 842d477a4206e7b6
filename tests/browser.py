"""A real browser for tests: every command to it has a limit, and it does not outlive its tests."""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import PASSES_ON, kill

webdriver = pytest.importorskip("selenium.webdriver")

CHROMIUM, CHROMEDRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or CHROMEDRIVER is None, reason="chromium and chromedriver are not installed"
)

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",  # which is small where machines are shared
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LIMIT = 120.0
"""Seconds that a page, or a script in it, may take; many times what any needs, for machines that are busy."""


@contextmanager
def started_browser(profile: Path, width: int, height: int) -> Iterator[Any]:
    """Begin a browser that keeps everything in one folder, and drive it."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    token = uuid.uuid4().hex
    environment = {**os.environ, PASSES_ON: token}
    service = webdriver.ChromeService(CHROMEDRIVER, env=environment, popen_kw={"start_new_session": True})
    try:
        driver = webdriver.Chrome(options=options, service=service)
        driver.set_page_load_timeout(LIMIT)
        driver.set_script_timeout(LIMIT)
        yield driver
        driver.quit()
    finally:
        kill(service.process, token)


def settled(browser: Any) -> None:
    """Wait until what was asked for is drawn."""
    browser.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))"
    )
