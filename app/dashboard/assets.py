"""The static files of the dashboard, read once and compressed once."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

STATIC = Path(__file__).parent / "static"
# mimetypes reads the machine's own tables, which may be wrong about scripts.
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
PAGE_SUFFIX = ".html"  # pages are served by routes of their own


@dataclass(frozen=True)
class Asset:
    path: str  # relative to STATIC, with slashes
    content: bytes

    @property
    def media_type(self) -> str:
        suffix = Path(self.path).suffix
        guessed, _ = mimetypes.guess_type(self.path)
        return MEDIA_TYPES.get(suffix) or guessed or "application/octet-stream"

    @cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.content, compresslevel=9, mtime=0)


@dataclass(frozen=True)
class Assets:
    """All files by path.

    `digest` changes with any of them and is part of their addresses, so that browsers
    may keep them for good.
    """

    files: dict[str, Asset]
    digest: str

    def modules(self, folder: str) -> list[str]:
        """Paths of the scripts in a folder, for the page to load ahead of their use."""
        return [path for path in self.files if path.startswith(folder)]


def load_assets(folder: Path = STATIC) -> Assets:
    files: dict[str, Asset] = {}
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.suffix == PAGE_SUFFIX:
            continue
        path = file.relative_to(folder).as_posix()
        content = file.read_bytes()
        files[path] = Asset(path, content)
        digest.update(path.encode() + b"\0" + content)
    return Assets(files, digest.hexdigest()[:16])
