"""The wheel, installed without extras in a clean environment, beside a user's own `app`
and `workers`.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.dashboard.assets import STATIC
from app.store.upgrade import head

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        ROOT,
    ]
    subprocess.run(build, check=True)
    return next(folder.glob("counterpoise-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that holds the wheel and what it needs,
    at the locked versions.
    """
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True
    )
    pins = re.findall(
        r"^[a-z0-9.-]+==[^\\\n]+", (ROOT / "locks" / "runtime.txt").read_text(), re.M
    )
    (folder / "pins.txt").write_text("\n".join(pins))
    install: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        folder / "venv/bin/python",
        "install",
        "--quiet",
        "--no-compile",
        "-c",
        folder / "pins.txt",
        wheel,
    ]
    subprocess.run(install, check=True)
    return folder / "venv" / "bin"


@pytest.fixture
def users_folder(tmp_path: Path) -> Path:
    for name in ("app", "workers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(
            f"raise SystemExit('imported the user\\'s own {name}')"
        )
    return tmp_path


def run(command: Sequence[Path | str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_wheel_holds_what_a_server_needs_and_nothing_of_the_checkout(
    wheel: Path,
) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "app/store/migrations/env.py" in names
    assert "app/store/migrations/versions/0001_first_tables.py" in names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "counterpoise",
        "app",
        "workers",
    }


def test_the_wheel_holds_every_file_of_the_dashboard(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [file for file in STATIC.rglob("*") if file.is_file()]
    paths = {f"app/dashboard/static/{file.relative_to(STATIC)}" for file in files}
    assert "app/dashboard/static/index.html" in paths
    assert paths <= packed


def test_without_extras_there_is_no_numerical_stack(
    installed: Path, tmp_path: Path
) -> None:
    code = "import importlib.util as u; print([m for m in ('numpy','scipy','sqlalchemy','fastapi') if u.find_spec(m)])"
    assert run([installed / "python", "-c", code], tmp_path).stdout.strip() == "[]"


def test_the_command_runs_beside_a_users_own_packages(
    installed: Path, users_folder: Path
) -> None:
    result = run([installed / "counterpoise", "version", "--json"], users_folder)
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["counterpoise"]
    assert run([installed / "counterpoise", "--help"], users_folder).returncode == 0


@pytest.mark.parametrize("command", ["serve", "migrate", "demo"])
def test_a_servers_command_says_how_to_install_the_server(
    installed: Path, users_folder: Path, command: str
) -> None:
    result = run([installed / "counterpoise", command], users_folder)
    assert result.returncode == 1
    assert "pip install 'counterpoise[server]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_bench_says_where_it_lives(installed: Path, users_folder: Path) -> None:
    result = run([installed / "counterpoise", "bench", "gp"], users_folder)
    assert result.returncode == 1
    assert "clone the repository" in result.stderr


def test_pages_are_served_from_the_installed_wheel(
    wheel: Path, users_folder: Path
) -> None:
    """The same code, unpacked, with this environment's libraries."""
    site = users_folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    script = users_folder / "pages.py"
    script.write_text(
        f"""
import re, sys
sys.path.insert(0, {str(site)!r})
from fastapi.testclient import TestClient
from app.dashboard.assets import STATIC
from app.main import create_app
from app.settings import load_settings
assert str(STATIC).startswith({str(site)!r}), STATIC
client = TestClient(create_app(load_settings(database_url="sqlite:///x.db")), "http://127.0.0.1:8000")
for path in ("/", "/docs"):
    links = re.findall('(?:href|src)="([^"]+)"', client.get(path).text)
    codes = {{client.get("/" + link).status_code for link in links}}
    print(path, len(links) > 2, codes)
"""
    )
    result = run([sys.executable, "-P", script], users_folder)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert [line for line in lines if line.startswith("/")] == [
        "/ True {200}",
        "/docs True {200}",
    ]


def test_migrations_run_from_the_installed_wheel(
    wheel: Path, users_folder: Path
) -> None:
    """The same code, unpacked, with this environment's libraries: the wheel finds its
    own migrations.
    """
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(users_folder / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(users_folder / 'site')!r}); import app.store.upgrade as u;"
        "from counterpoise.cli import main; assert 'site' in str(u.MIGRATIONS), u.MIGRATIONS; main()"
    )
    command = [
        sys.executable,
        "-P",
        "-c",
        code,
        "migrate",
        "--json",
        "--database-url",
        "sqlite:///x.db",
    ]
    result = run(command, users_folder)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"before": None, "after": head()}
