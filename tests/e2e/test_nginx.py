"""Two servers behind nginx, as docs/operations.md configures it, restart one after the
other: no request fails.
"""

import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.e2e.processes import (
    PATIENCE_S,
    ROOT,
    eventually,
    free_port,
    is_ready,
    running,
    serving,
)

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
PAGE = (ROOT / "docs" / "operations.md").read_text()
ADDRESSES = ("10.0.0.11:8000", "10.0.0.12:8000")  # in the page
ASK = {"worker": "w", "studies": ["*"], "objectives": ["*"]}
OTHER_DIRECTIVES = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""


@contextmanager
def proxying(ports: list[int], folder: Path) -> Iterator[str]:
    """nginx in front of servers on these ports; yields its URL."""
    (site,) = re.findall(r"^```nginx\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for address, port in zip(ADDRESSES, ports, strict=True):
        assert address in site
        site = site.replace(address, f"127.0.0.1:{port}")
    own_port = free_port()
    site = site.replace("listen 443 ssl;", f"listen 127.0.0.1:{own_port};")
    site = re.sub(r"ssl_certificate(_key)? .*;", "", site)
    config = folder / "nginx.conf"
    config.write_text(OTHER_DIRECTIVES.format(folder=folder, site=site))
    url = f"http://127.0.0.1:{own_port}"
    with running(str(NGINX), "-p", folder, "-c", config):
        eventually(lambda: is_ready(url), "nginx")
        yield url


@pytest.mark.slow
@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_rolling_restart_fails_no_request(database_url: str, tmp_path: Path) -> None:
    ports = [free_port(), free_port()]
    statuses: Counter[int] = Counter()
    stop = threading.Event()

    def send_requests(url: str) -> None:
        headers = {"Host": "127.0.0.1"}  # a server without tokens admits no other
        with httpx.Client(base_url=url, timeout=PATIENCE_S, headers=headers) as client:
            while not stop.is_set():
                statuses[client.get("/studies").status_code] += 1
                # A proxy does not repeat these by itself
                statuses[client.post("/ask", json=ASK).status_code] += 1

    with ExitStack() as last:
        servers = [ExitStack(), ExitStack()]
        for server, port in zip(servers, ports, strict=True):
            last.enter_context(server)
            start(server, database_url, port)
        url = last.enter_context(proxying(ports, tmp_path))
        threads = [
            threading.Thread(target=send_requests, args=(url,)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        try:
            for server, port in zip(servers, ports, strict=True):
                server.close()
                await_requests(statuses, 40)  # the other one serves alone
                start(server, database_url, port)
            await_requests(statuses, 40)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert set(statuses) == {200}


def start(server: ExitStack, database_url: str, port: int) -> None:
    server.enter_context(serving(database_url, "--no-planner", port=port))


def await_requests(statuses: Counter[int], count: int) -> None:
    goal = statuses.total() + count
    eventually(lambda: statuses.total() >= goal, "requests")
