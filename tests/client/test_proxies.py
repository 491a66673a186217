"""The client with proxies, certificates and threads, against real sockets."""

import json
import ssl
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from counterpoise import Client, RequestFailed
from counterpoise.errors import ServerUnavailable
from tests.commands.fake_api import STUDY


class ProxyHandler(BaseHTTPRequestHandler):
    paths: list[str]

    def do_GET(self) -> None:
        self.paths.append(self.path)
        content = json.dumps(STUDY.model_dump()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_CONNECT(self) -> None:
        self.paths.append(self.path)
        self.send_error(502)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def proxy_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    handler = type("Handler", (ProxyHandler,), {"paths": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_proxies_of_the_environment_are_used_but_not_for_loopback(
    proxy_server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths: list[str] = proxy_server.RequestHandlerClass.paths  # type: ignore[attr-defined]
    proxy = f"http://127.0.0.1:{proxy_server.server_port}"
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("NO_PROXY", "inside.invalid")
    with Client("http://outside.invalid", retry_s=0) as client:
        assert client.study("wing").name == "wing"
    with (
        Client("https://outside.invalid", retry_s=0) as client,
        pytest.raises(ServerUnavailable, match="502"),
    ):
        client.study("wing")
    with (
        Client("http://inside.invalid", retry_s=0) as client,
        pytest.raises(ServerUnavailable),
    ):
        client.study("wing")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Client(proxy, retry_s=0) as client:
        client.study("wing")
    assert paths == [
        "http://outside.invalid/studies/wing",
        "outside.invalid:443",
        "/studies/wing",
    ]


def test_a_private_certificate_is_trusted_if_the_environment_names_it(
    proxy_server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    files: list[str | Path] = [
        "-keyout",
        key,
        "-out",
        certificate,
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run([*make, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    proxy_server.socket = context.wrap_socket(proxy_server.socket, server_side=True)
    url = f"https://127.0.0.1:{proxy_server.server_port}"
    with (
        Client(url, retry_s=60) as client,
        pytest.raises(RequestFailed, match="set SSL_CERT_FILE") as caught,
    ):
        client.study("wing")
    assert not isinstance(caught.value, ServerUnavailable)  # so it is not repeated
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Client(url, retry_s=0) as client:
        assert client.study("wing").name == "wing"


@pytest.mark.parametrize(
    ("name", "value"),
    [("SSL_CERT_FILE", "/no/such/file"), ("HTTPS_PROXY", "gopher://x")],
)
def test_an_unusable_environment_is_an_error(
    proxy_server: ThreadingHTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(
        RequestFailed, match=f"{name}.* in the environment cannot be used"
    ):
        Client("https://outside.invalid")


def test_threads_share_one_client(proxy_server: ThreadingHTTPServer) -> None:
    url = f"http://127.0.0.1:{proxy_server.server_port}"
    with Client(url) as client, ThreadPoolExecutor(8) as pool:
        assert {study.name for study in pool.map(client.study, ["wing"] * 40)} == {
            "wing"
        }
