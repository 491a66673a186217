"""Which browser the tests drive."""

import shutil
from pathlib import Path

from playwright.sync_api import Playwright

INSTALLED = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
ELSEWHERE = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"),
    Path("C:/Program Files/Google/Chrome/Application/chrome.exe"),
    Path("C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe"),
)
# Containers run the tests as root, where the sandbox of Chromium does not start.
ARGUMENTS = ["--no-sandbox", "--disable-3d-apis", "--disable-dev-shm-usage"]
NO_BROWSER = (
    "no browser: install Chromium, Chrome or Edge, or run `playwright install chromium`"
)


def find_browser(playwright: Playwright) -> Path | None:
    """An installed browser, else Playwright's own."""
    for name in INSTALLED:
        if found := shutil.which(name):
            return Path(found)
    for path in (*ELSEWHERE, Path(playwright.chromium.executable_path)):
        if path.exists():
            return path
    return None
