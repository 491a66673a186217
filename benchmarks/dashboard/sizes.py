"""What a browser transfers, when it paints first, and how long charts take.

Run with `python -m benchmarks.dashboard.sizes`; it needs a browser.
"""

import logging
import shutil
import tempfile
from pathlib import Path

import structlog
from playwright.sync_api import CDPSession, Page, Request, sync_playwright
from rich.console import Console
from rich.table import Table

from app.store.database import Database
from app.store.upgrade import upgrade
from tests.browser.browser import ARGUMENTS, find_browser
from tests.browser.seed import seed
from tests.e2e.processes import serving

MOST_KB = 400
MOST_CHART_MS = 200
POINTS = 5000
REPEATS = 5
CHARTS = ("scatter", "parallel", "timeline")
SETTLE_MS = 2000  # for files that a page loads after it is shown
FIRST_PAINT = (
    """() => performance.getEntriesByName('first-contentful-paint')[0].startTime"""
)
# The dashboard's own charts with made-up data, in the page itself.
DRAW = """async ([vendor, chartName, points, repeats]) => {
    const js = new URL('../js/', vendor).href;
    const {init, graphic} = await import(vendor);
    const {scatterOption} = await import(`${js}charts/scatter.js`);
    const {parallelOption} = await import(`${js}charts/parallel.js`);
    const {ganttOption} = await import(`${js}charts/gantt.js`);
    const random = () => Math.random();
    const names = count => Array.from({length: count}, (_, i) => ({name: `y${i}`}));
    const point = names => Object.fromEntries(names.map(({name}) => [name, random()]));
    const axes = names(8);
    const samples = Array.from({length: points}, (_, i) => ({
        sample: i, kind: i % 50 ? 'dominated' : 'front', step: 'search:1', full: true,
        open: 0, failures: {}, x: {}, values: point(axes),
    }));
    const slots = Array.from({length: 25}, (_, i) => ({worker: `node${i}`, slot: 0}));
    const time = second => new Date(1.7e12 + 1000 * second).toISOString();
    const items = Array.from({length: points}, (_, i) => {
        const start = 40 * Math.floor(i / 25) + (i > points / 2 ? 20 * points : 0);
        return {
            ...slots[i % 25], start: time(start), end: time(start + 30), count: 1,
            failed: i % 40 ? 0 : 1, objectives: {y0: 1}, job: i, attempt: 1,
        };
    });
    const last = items.at(-1).end;
    const timeline = {items, slots, start: items[0].start, end: last, now: last};
    const shared = {samples, isShown: () => true, focus: null};
    const [x, y] = axes;
    const workers = slots.map(({worker}) => worker);
    const options = {
        scatter: () => scatterOption({...shared, x, y}),
        parallel: () => parallelOption({...shared, axes}),
        timeline: () => ganttOption({
            timeline, slots, workers, objectives: axes, isFinished: true,
            withBreaks: true, graphic,
        }),
    };
    const element = document.createElement('div');
    element.style.width = '1200px';
    element.style.height = '700px';
    document.body.append(element);
    const runs = [];
    for (let run = 0; run < repeats; run += 1) {
        const chart = init(element);
        const start = performance.now();
        chart.setOption(options[chartName]());
        chart.getZr().flush();
        runs.push(performance.now() - start);
        chart.dispose();
    }
    element.remove();
    return runs.sort((a, b) => a - b)[Math.floor(repeats / 2)];
}"""


def main() -> None:
    quiet = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=quiet)
    with tempfile.TemporaryDirectory() as folder:
        database_url = f"sqlite:///{Path(folder, 'seeded.db')}"
        database = Database(database_url)
        upgrade(database)
        database.close()
        seed(database_url)
        with serving(database_url, "--no-planner") as (url, _):
            measure(url)


def measure(url: str) -> None:
    requests: list[Request] = []
    with sync_playwright() as playwright:
        path = find_browser(playwright)
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page()
        page.on("requestfinished", lambda request: requests.append(request))
        page.goto(f"{url}/")
        page.get_by_role("heading", name="Studies").wait_for()
        first_paint_ms = page.evaluate(FIRST_PAINT)
        visit(page, url)
        sizes = transferred(requests, url)
        module = next(address for address in sizes if address.endswith("charts.js"))
        times = {name: draw(page, module, name) for name in CHARTS}
        browser.close()
    report(sizes, first_paint_ms, times)


def draw(page: Page, module: str, chart: str) -> tuple[float, float]:
    """Milliseconds for one drawing: on the clock, and of the processor."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.evaluate(DRAW, [module, chart, POINTS, 1])
    before_s = script_s(session)
    took_ms = page.evaluate(DRAW, [module, chart, POINTS, REPEATS])
    processor_ms = 1000.0 * (script_s(session) - before_s) / REPEATS
    session.detach()
    return took_ms, processor_ms


def script_s(session: CDPSession) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    seconds = {metric["name"]: metric["value"] for metric in metrics}
    return float(seconds["TaskDuration"])


def transferred(requests: list[Request], url: str) -> dict[str, int]:
    """Bytes by file of the dashboard; data are left out."""
    return {
        request.url: request.sizes()["responseBodySize"]
        for request in requests
        if "/assets/" in request.url or request.url == f"{url}/"
    }


def visit(page: Page, url: str) -> None:
    """Every page that loads a file of its own."""
    for path in ("studies/wing/tradeoffs", "studies/wing/setup", "new"):
        page.goto(f"{url}/#/{path}")
        page.locator("main .panel").first.wait_for()
    page.wait_for_timeout(SETTLE_MS)


def report(
    sizes: dict[str, int],
    first_paint_ms: float,
    times: dict[str, tuple[float, float]],
) -> None:
    table = Table("file", "kB transferred")
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:6]
    for address, size in largest:
        table.add_row(address.rpartition("/")[2] or "index.html", f"{size / 1000:.1f}")
    total_kb = sum(sizes.values()) / 1000
    table.add_row(f"all {len(sizes)} files", f"{total_kb:.1f} (at most {MOST_KB})")
    console = Console(width=min(shutil.get_terminal_size().columns, 100))
    console.print(table)
    console.print(f"first paint after {first_paint_ms:.0f} ms")
    for name, (took_ms, processor_ms) in times.items():
        console.print(
            f"{name} of {POINTS} items: {took_ms:.0f} ms, {processor_ms:.0f} ms of the"
            f" processor (at most {MOST_CHART_MS})"
        )


if __name__ == "__main__":
    main()
