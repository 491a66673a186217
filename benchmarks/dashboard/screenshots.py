"""`make screenshots`: pictures of a real study for the README and the docs.

Runs the demo, serves its database and takes pages, light and dark. With the URL of the
database of an earlier demo as the only argument, it takes the pictures of that one.
"""

import subprocess
import sys
import tempfile
from base64 import b64decode, b64encode
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console

from tests.browser.browser import ARGUMENTS, find_browser
from tests.e2e.processes import serving

IMAGES = Path(__file__).parents[2] / "docs" / "images"
COUNTERPOISE = Path(sys.executable).with_name("counterpoise")
WIDTH = 1440
HEIGHT = 900
HEIGHTS = {"tradeoffs": 1160}  # with both charts
QUALITY = 82  # of WebP: lossy, but sharp enough for text
SETTLE_MS = 2500
PATIENCE_MS = 120_000  # for a loaded machine
PAGES = {
    "overview": "/studies/wing",
    "timeline": "/studies/wing/work",
    "tradeoffs": "/studies/wing/tradeoffs?r=mass:0..2.5",
    "convergence": "/studies/wing/convergence",
}
# From a picture in the page to a small file, without another library.
TO_WEBP = """async ([data, quality]) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + data;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', quality).split(',')[1];
}"""


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        database = sys.argv[1] if len(sys.argv) > 1 else run_demo(Path(folder, "demo"))
        with serving(database, "--no-planner") as (url, _):
            take_all(url, console)


def run_demo(folder: Path) -> str:
    command = [str(COUNTERPOISE), "demo", "--seeds", "1", "--out", str(folder)]
    subprocess.run(command, check=True)  # noqa: S603
    return f"sqlite:///{folder / 'counterpoise-demo.db'}"


def take_all(url: str, console: Console) -> None:
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        path = find_browser(playwright)
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for theme in ("light", "dark"):
            for name, address in PAGES.items():
                file = IMAGES / f"{name}-{theme}.webp"
                height = HEIGHTS.get(name, HEIGHT)
                take(browser, f"{url}/#{address}", theme, height, file)
                console.print(f"{file.name}  {file.stat().st_size / 1000:.0f} kB")
        browser.close()


def take(browser: Browser, address: str, theme: str, height: int, file: Path) -> None:
    context = browser.new_context(
        viewport={"width": WIDTH, "height": height},
        color_scheme="dark" if theme == "dark" else "light",
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(address)
    page.locator("main .panel").first.wait_for()
    page.wait_for_timeout(SETTLE_MS)
    file.write_bytes(to_webp(context.new_page(), page.screenshot()))
    context.close()


def to_webp(page: Page, png: bytes) -> bytes:
    encoded = page.evaluate(TO_WEBP, [b64encode(png).decode(), QUALITY / 100])
    return b64decode(encoded)


if __name__ == "__main__":
    main()
