"""A page that is open for a day: many events cost few requests and no memory."""

from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenPage

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


def test_a_day_of_events_neither_floods_the_server_nor_grows_the_page(
    server: str, open_page: OpenPage
) -> None:
    page = open_page("about:blank", fresh=True)
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
