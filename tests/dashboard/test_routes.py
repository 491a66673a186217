"""How the pages and their files are served."""

import gzip
import re
from collections.abc import Iterator
from urllib.parse import urljoin

import pytest
from fastapi.testclient import TestClient

from app.dashboard.assets import STATIC
from app.main import create_app
from app.settings import load_settings
from counterpoise.wire.codes import EventKind
from tests.api.wing import LOCAL

PREFIX = "/tools/counterpoise"
LINKS = re.compile(r'(?:href|src)="([^"]+)"')


@pytest.fixture
def backend() -> str:
    return "sqlite"  # the database makes no difference


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    app = create_app(load_settings(database_url=database_url, root_path=PREFIX))
    with TestClient(app, LOCAL) as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/docs"])
@pytest.mark.parametrize("prefix", ["", PREFIX])  # a proxy may strip it or not
def test_every_link_of_a_page_leads_to_a_file(
    client: TestClient, path: str, prefix: str
) -> None:
    page = client.get(prefix + path)
    assert page.status_code == 200
    links = LINKS.findall(page.text)
    assert links
    for link in links:
        file = client.get(urljoin(prefix + path, link))
        assert file.status_code == 200, link
        assert "immutable" in file.headers["cache-control"]


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_allow_nothing_from_elsewhere(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["cache-control"] == "no-cache"
    assert headers["x-content-type-options"] == "nosniff"


def test_the_prefix_without_a_slash_leads_to_the_dashboard(client: TestClient) -> None:
    response = client.get(PREFIX, follow_redirects=False)
    assert response.status_code == 307
    assert response.headers["location"] == f"{PREFIX}/"


@pytest.mark.parametrize("path", ["/", "/docs", "/assets/any/vendor/charts.js"])
def test_files_are_compressed_for_those_who_ask(client: TestClient, path: str) -> None:
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert "Accept-Encoding" in plain.headers["vary"]
    with client.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as response:
        raw = b"".join(response.iter_raw())
    assert response.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == plain.content


def test_a_file_of_another_version_is_not_kept(client: TestClient) -> None:
    response = client.get("/assets/another/js/main.js")
    assert response.headers["cache-control"] == "no-store"


def test_pages_listen_to_every_kind_of_event() -> None:
    text = (STATIC / "js/data/live.js").read_text()
    kinds = re.search(r"const KINDS = \[(.*?)\];", text, re.S)
    assert kinds is not None
    assert set(re.findall(r'"(\w+)"', kinds[1])) == set(EventKind)


@pytest.mark.parametrize("path", ["nothing.js", "../routes.py", "index.html", ""])
def test_only_files_of_the_dashboard_are_served(client: TestClient, path: str) -> None:
    assert client.get(f"/assets/any/{path}").status_code == 404
