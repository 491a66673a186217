"""What a browser transfers, when it paints first, and how long charts take.

Run with `python -m benchmarks.dashboard.sizes`; it needs a browser.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, Request, sync_playwright
from rich.console import Console
from rich.table import Table

from app.store.database import Database
from app.store.upgrade import upgrade
from tests.browser.browser import ARGUMENTS, find_browser
from tests.browser.seed import seed
from tests.e2e.processes import serving

MOST_KB = 400
POINTS = 5000
REPEATS = 5
SETTLE_MS = 2000  # for files that a page loads after it is shown
FIRST_PAINT = (
    """() => performance.getEntriesByName('first-contentful-paint')[0].startTime"""
)
# Draws in the page itself, so that only ECharts is measured.
DRAW = """async ([module, points, repeats]) => {
    const {init} = await import(module);
    const random = () => Math.random();
    const cloud = Array.from({length: points}, () => [random(), random()]);
    const lines = Array.from({length: points}, () => Array.from({length: 8}, random));
    const bars = Array.from({length: points}, (_, i) => [i % 25, i, i + 0.8]);
    const options = {
        scatter: {xAxis: {}, yAxis: {}, series: [{type: 'scatter', data: cloud}]},
        parallel: {
            parallel: {},
            parallelAxis: Array.from({length: 8}, (_, dim) => ({dim, name: `${dim}`})),
            series: [{type: 'parallel', progressive: 0, data: lines}],
        },
        timeline: {
            xAxis: {breaks: [{start: 1000, end: 2000, gap: '2%'}]},
            yAxis: {type: 'category', data: Array.from({length: 25}, (_, i) => `${i}`)},
            series: [{
                type: 'custom', encode: {x: [1, 2], y: 0}, data: bars,
                renderItem: (params, api) => {
                    const [x0, y] = api.coord([api.value(1), api.value(0)]);
                    const [x1] = api.coord([api.value(2), api.value(0)]);
                    const shape = {x: x0, y: y - 8, width: Math.max(x1 - x0, 1), height: 16};
                    return {type: 'rect', shape, style: {fill: '#07b'}};
                },
            }],
        },
    };
    const times = {};
    for (const [name, option] of Object.entries(options)) {
        const element = document.createElement('div');
        element.style.width = '1200px';
        element.style.height = '500px';
        document.body.append(element);
        const runs = [];
        for (let run = 0; run < repeats; run += 1) {
            const chart = init(element);
            const start = performance.now();
            chart.setOption({animation: false, ...option});
            chart.getZr().flush();
            runs.push(performance.now() - start);
            chart.dispose();
        }
        element.remove();
        times[name] = runs.sort((a, b) => a - b)[Math.floor(repeats / 2)];
    }
    return times;
}"""


def main() -> None:
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
        page.on("requestfinished", requests.append)
        page.goto(f"{url}/")
        page.get_by_role("heading", name="Studies").wait_for()
        first_paint_ms = page.evaluate(FIRST_PAINT)
        visit(page, url)
        sizes = transferred(requests, url)
        module = next(address for address in sizes if address.endswith("charts.js"))
        times = page.evaluate(DRAW, [module, POINTS, REPEATS])
        browser.close()
    report(sizes, first_paint_ms, times)


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
    sizes: dict[str, int], first_paint_ms: float, times: dict[str, float]
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
    for name, took_ms in times.items():
        console.print(f"{name} of {POINTS} items: {took_ms:.0f} ms")


if __name__ == "__main__":
    main()
