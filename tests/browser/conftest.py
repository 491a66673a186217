"""A real server with a seeded database, and a browser whose every page is watched: no
errors, no violation of the content security policy, no request to another host.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser.browser import ARGUMENTS, NO_BROWSER, find_browser
from tests.browser.seed import seed
from tests.e2e.processes import serving

PATIENCE_MS = 30_000  # for a loaded machine
READ_TOKEN = "read-token-of-the-tests"
ADMIN_TOKEN = "admin-token-of-the-tests"
PREFIX = "/tools/counterpoise"
REFUSED = "status of 401"
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Watch:
    """What a page must not do; `allow` names errors that a test provokes."""

    host: str
    allowed: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def allow(self, pattern: str) -> None:
        self.allowed.append(pattern)

    def add(self, fault: str) -> None:
        self.faults.append(fault)

    def clear(self) -> None:
        self.allowed.clear()
        self.faults.clear()

    @property
    def unexpected(self) -> list[str]:
        return [
            fault
            for fault in self.faults
            if not any(re.search(pattern, fault) for pattern in self.allowed)
        ]


@pytest.fixture(scope="session")
def browser_path() -> Path:
    with sync_playwright() as playwright:
        path = find_browser(playwright)
    if path is None:
        pytest.skip(NO_BROWSER)
    return path


@pytest.fixture(scope="module")
def browser(browser_path: Path) -> Iterator[Browser]:
    """Closed after each file: while it runs, no other test can start an event loop."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=ARGUMENTS
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def seeded(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("browser") / "seeded.db"
    shutil.copy(sqlite_template, file)
    seed(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def server(browser_path: Path, seeded: Path) -> Iterator[str]:
    """With tokens, behind a path prefix."""
    with serving(
        f"sqlite:///{seeded}",
        "--no-planner",
        "--root-path",
        PREFIX,
        COUNTERPOISE_READ_TOKENS=READ_TOKEN,
        COUNTERPOISE_ADMIN_TOKENS=ADMIN_TOKEN,
    ) as (url, _):
        yield f"{url}{PREFIX}"


def copy_of(database: Path, name: str) -> str:
    """The URL of a copy, together with what SQLite has not merged into the file yet."""
    for part in database.parent.glob(f"{database.name}*"):
        copy = part.name.replace(database.stem, name)
        shutil.copy(part, database.with_name(copy))
    return f"sqlite:///{database.with_name(f'{name}{database.suffix}')}"


@pytest.fixture(scope="module")
def module_watch() -> Watch:
    return Watch(host="127.0.0.1")


@pytest.fixture
def watch(module_watch: Watch) -> Watch:
    module_watch.clear()
    return module_watch


OpenPage = Callable[..., Page]


SIZE: ViewportSize = {"width": 1280, "height": 900}


@pytest.fixture(scope="module")
def shared_page(browser: Browser, server: str, module_watch: Watch) -> Iterator[Page]:
    """A window of an admin. Tests share it, because loading the dashboard takes longer
    than going from page to page.
    """
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(PATIENCE_MS)
    context.request.post(f"{server}/login", data={"token": ADMIN_TOKEN})
    page = context.new_page()
    follow(page, module_watch)
    yield page
    context.close()


@pytest.fixture
def open_page(
    browser: Browser, server: str, shared_page: Page, watch: Watch
) -> Iterator[OpenPage]:
    """Opens an address in the shared window; with options of Playwright in a window of
    its own, and if it is to be `fresh`, without the cookies and choices of others.
    """
    opened: list[BrowserContext] = []

    def open_(
        address: str, *, size: ViewportSize = SIZE, fresh: bool = False, **options: Any
    ) -> Page:
        page = shared_page
        if fresh or options:
            if not fresh:
                options["storage_state"] = shared_page.context.storage_state()
            context = browser.new_context(viewport=size, **options)
            context.set_default_timeout(PATIENCE_MS)
            opened.append(context)
            page = context.new_page()
            follow(page, watch)
        else:
            page.set_viewport_size(size)
            page.goto(f"{server}/#/nowhere")  # nothing stays of the page before
        page.goto(address)
        return page

    yield open_
    for context in reversed(opened):
        context.close()


@pytest.fixture(autouse=True)
def no_page_misbehaved(watch: Watch) -> Iterator[None]:
    yield
    assert watch.unexpected == []


def follow(page: Page, watch: Watch) -> None:
    def on_console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            watch.add(f"console: {message.text} {message.location.get('url', '')}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: watch.add(f"error: {error}"))
    page.on("dialog", lambda dialog: watch.add(f"dialog: {dialog.message}"))

    def on_request(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") and parts.hostname != watch.host:
            watch.add(f"request to another host: {address}")

    page.on("request", lambda request: on_request(request.url))


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
