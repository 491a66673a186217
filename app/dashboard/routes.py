"""Serves the dashboard at `/`, the API's reference at `/docs`, and their files.

Pages hold no data: they are served without a token, and read the protected REST JSON.
All addresses in them are relative, so that they work behind any path prefix.
"""

from functools import lru_cache

from fastapi import APIRouter, HTTPException, Request, Response

from app.dashboard.assets import STATIC, Asset, Assets, load_assets

router = APIRouter(include_in_schema=False)
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
PROTECTION = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
FOREVER = "public, max-age=31536000, immutable"
assets = lru_cache(maxsize=1)(load_assets)


@router.get("/")
async def get_dashboard(request: Request) -> Response:
    return page("index.html", request)


@router.get("/docs")
async def get_reference(request: Request) -> Response:
    return page("docs.html", request)


@router.get("/assets/{digest}/{path:path}")
async def get_asset(digest: str, path: str, request: Request) -> Response:
    """If the digest is not this server's, the request is meant for another version
    behind the same proxy: the response must not be cached.
    """
    known = assets()
    asset = known.files.get(path)
    if asset is None:
        raise HTTPException(404)
    headers = dict(PROTECTION)
    headers["Cache-Control"] = FOREVER if digest == known.digest else "no-store"
    headers["Vary"] = "Accept-Encoding"
    return respond(asset, headers, request)


def page(name: str, request: Request) -> Response:
    headers = {**PROTECTION, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    return respond(render_page(name), headers, request)


def respond(asset: Asset, headers: dict[str, str], request: Request) -> Response:
    content = asset.content
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        content = asset.compressed
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=asset.media_type, headers=headers)


@lru_cache(maxsize=8)
def render_page(name: str) -> Asset:
    known = assets()
    text = (STATIC / name).read_text(encoding="utf-8")
    text = text.replace("{assets}", f"assets/{known.digest}")
    text = text.replace("<!-- {modules} -->", preloads(known))
    return Asset(name, text.encode())


def preloads(known: Assets) -> str:
    """Links to all modules: a browser fetches them at once instead of import by
    import.
    """
    paths = ["vendor/ui.js", *known.modules("js/")]
    lines = [
        f'<link rel="modulepreload" href="assets/{known.digest}/{path}">'
        for path in paths
    ]
    return "\n  ".join(lines)
