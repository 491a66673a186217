"""Pages that stay open: they follow changes, a server that goes away, and a day of
events.
"""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import (
    ADMIN_TOKEN,
    READ_TOKEN,
    REFUSED,
    OpenPage,
    Watch,
    copy_of,
    sign_in,
)
from tests.e2e.processes import free_port, serving

EVENTS = 5_000
# In place of the browser's own, so that a test sends the events of a day at once.
FAKE_SOURCE = """
class FakeSource extends EventTarget {
    constructor(address) {
        super();
        this.readyState = 1;
        window.fakeSource = this;
        setTimeout(() => this.onopen?.({}));
    }
    close() { this.readyState = 2; }
}
FakeSource.CLOSED = 2;
window.EventSource = FakeSource;
"""
CLOSED = 2  # of an event source
SET_HIDDEN = """isHidden => {
    Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""
SEND = """count => {
    for (let id = 1; id <= count; id += 1) {
        const event = new MessageEvent('done', {lastEventId: String(id), data: '{}'});
        window.fakeSource.dispatchEvent(event);
    }
}"""


def counts(page: Page) -> dict[str, Any]:
    """Nodes, listeners and bytes that are still in use."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return {metric["name"]: metric["value"] for metric in metrics}


def flood(page: Page, rounds: int) -> None:
    """Each round is followed by one reading of all that the page shows."""
    for _ in range(rounds):
        with page.expect_response(lambda response: "/overview" in response.url):
            page.evaluate(SEND, EVENTS)


def test_a_change_appears_without_a_reload(server: str, open_page: OpenPage) -> None:
    page = open_page(f"{server}/#/studies/watched")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    admin = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    httpx.post(f"{server}/studies/watched/pause", headers=admin).raise_for_status()
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()


def test_leases_are_read_again_without_an_event(
    server: str, open_page: OpenPage
) -> None:
    page = open_page(f"{server}/#/studies/watched", locale="en-GB")
    page.clock.install()
    page.reload()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    with page.expect_response(lambda response: response.url.endswith("/watched")):
        page.clock.fast_forward(30_000)
    page.goto(f"{server}/#/")
    expect(page.get_by_role("link", name="watched")).to_be_visible()
    expect(page).to_have_title("Counterpoise")
    with page.expect_response(lambda response: "/overview?" in response.url):
        page.clock.fast_forward(30_000)


def test_a_hidden_page_gives_its_connection_back(
    server: str, open_page: OpenPage
) -> None:
    page = open_page("about:blank", locale="en-GB")
    page.add_init_script(FAKE_SOURCE)
    page.clock.install()
    page.goto(f"{server}/#/studies/watched")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.evaluate(SET_HIDDEN, True)
    page.clock.fast_forward(15_000)
    assert page.evaluate("fakeSource.readyState") == CLOSED
    with page.expect_response(lambda response: response.url.endswith("/watched")):
        page.evaluate(SET_HIDDEN, False)
        page.clock.fast_forward(5_000)
    assert page.evaluate("fakeSource.readyState") != CLOSED


def test_a_study_that_is_deleted_is_no_longer_shown(
    server: str, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow("Failed to load resource")
    admin = {"Authorization": f"Bearer {ADMIN_TOKEN}"}
    study = {
        "name": "gone",
        "variables": [{"name": "a", "low": 0.0, "high": 1.0}],
        "objectives": [{"name": "mass"}],
        "budget": 20,
    }
    created = httpx.post(f"{server}/studies", json=study, headers=admin)
    assert created.status_code == 201
    page = open_page(f"{server}/#/studies/gone")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    httpx.delete(f"{server}/studies/gone", headers=admin).raise_for_status()
    expect(page.get_by_text("there is no study 'gone'")).to_be_visible()
    expect(page.get_by_role("heading", name="Progress")).to_have_count(0)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_text("has not responded")).to_have_count(0)
    created = httpx.post(f"{server}/studies", json=study, headers=admin)
    assert created.status_code == 201
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    httpx.delete(f"{server}/studies/gone", headers=admin).raise_for_status()


def test_a_part_that_was_not_sent_whole_is_read_again(
    server: str, open_page: OpenPage
) -> None:
    page = open_page("about:blank")
    path = re.compile(r"/studies/wing/balance")
    page.route(path, lambda route: route.fulfill(body='{"ob'), times=1)
    page.goto(f"{server}/#/studies/wing/balance")
    expect(page.get_by_role("alert")).to_contain_text("does not respond")
    expect(page.get_by_role("heading", name="Search bias penalty")).to_be_visible()


def test_a_page_survives_a_restart_of_the_server(
    seeded: Path, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow("Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE")
    database_url = copy_of(seeded, "restarted")
    port = free_port()
    with serving(database_url, "--no-planner", port=port) as (url, _):
        page = open_page(f"{url}/#/studies/wing", fresh=True)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("has not responded since")
    expect(page.get_by_role("heading", name="Progress")).to_be_visible()
    with serving(database_url, "--no-planner", port=port):
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)


@pytest.mark.slow
def test_a_restart_with_other_tokens_ends_the_session(
    seeded: Path, open_page: OpenPage, watch: Watch
) -> None:
    watch.allow("Failed to load resource|ERR_CONNECTION|ERR_INCOMPLETE")
    watch.allow(REFUSED)
    database_url = copy_of(seeded, "restarted")
    port = free_port()
    tokens = {"COUNTERPOISE_READ_TOKENS": READ_TOKEN}
    with serving(database_url, "--no-planner", port=port, **tokens) as (url, _):
        page = open_page(f"{url}/#/studies/wing", fresh=True)
        sign_in(page, READ_TOKEN)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
    tokens = {"COUNTERPOISE_READ_TOKENS": "another-token-of-the-tests"}
    with serving(database_url, "--no-planner", port=port, **tokens):
        expect(page.get_by_text("Your session has ended")).to_be_visible()


@pytest.mark.slow
def test_a_day_of_events_neither_floods_the_server_nor_grows_the_page(
    server: str, open_page: OpenPage
) -> None:
    page = open_page("about:blank", locale="en-GB")
    page.add_init_script(FAKE_SOURCE)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{server}/#/studies/wing")
    expect(page.locator(".chart[data-drawn]")).to_have_count(2)
    flood(page, 1)
    before = counts(page)
    requests.clear()
    flood(page, 2)
    after = counts(page)
    reads = [url for url in requests if url.endswith("/studies/wing/overview")]
    assert len(reads) <= 4
    assert after["Nodes"] <= before["Nodes"] * 1.1
    assert after["JSEventListeners"] <= before["JSEventListeners"] * 1.1
    assert after["JSHeapUsedSize"] <= before["JSHeapUsedSize"] + 3e6
