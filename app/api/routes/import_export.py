"""Import of known evaluations, and export of a study's data, as files."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from app.api.dependencies import DatabaseDep, StudyName
from app.api.security.access import ADMINS, READERS
from app.service.files.csv_reader import read_csv
from app.service.files.evaluation_reader import Reading
from app.service.files.export import Format, What, export
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from counterpoise.wire.specification import Specification
from counterpoise.wire.views import Imported

router = APIRouter(tags=["files"])
READERS_BY_TYPE = {"text/csv": read_csv, "application/json": read_json}
CSV_EXAMPLE = "span,ribs,skin,mass,drag\n2.5,7,0.001,12.5,\n3.0,8,0.002,13.1,0.31\n"
JSON_EXAMPLE = [
    {"x": {"span": 2.5, "ribs": 7, "skin": 0.001}, "values": {"mass": 12.5}}
]
BODY = {
    "required": True,
    "content": {
        "text/csv": {"schema": {"type": "string"}, "example": CSV_EXAMPLE},
        "application/json": {"schema": {}, "example": JSON_EXAMPLE},
    },
}


@router.post(
    "/studies/{name}/import",
    summary="Import known evaluations",
    dependencies=ADMINS,
    openapi_extra={"requestBody": BODY},
)
async def post_import(
    name: StudyName,
    request: Request,
    database: DatabaseDep,
    dry_run: Annotated[
        bool, Query(description="report what would be done, and change nothing")
    ] = False,
    evaluate: Annotated[
        bool, Query(description="create jobs for the values that are missing")
    ] = False,
) -> Imported:
    """Imports all rows or, if any is invalid, none: then every fault is listed with its
    line or JSON pointer.
    """
    media_type = (
        request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    )
    if media_type not in READERS_BY_TYPE:
        supported = " or ".join(READERS_BY_TYPE)
        raise HTTPException(
            415,
            f"an import is {supported}, not {media_type or 'nothing'}; set the header Content-Type",
        )
    read = partial(_read, media_type, await request.body())
    return await run_in_threadpool(
        import_evaluations, database, name, read, evaluate=evaluate, dry_run=dry_run
    )


def _read(media_type: str, content: bytes, spec: Specification) -> Reading:
    return READERS_BY_TYPE[media_type](spec, content)


@router.get(
    "/studies/{name}/export/{what}",
    summary="All samples, jobs, steps, or the front, as one file",
    dependencies=READERS,
    response_class=StreamingResponse,
)
def get_export(
    name: StudyName,
    what: Annotated[What, Path(description="what to export")],
    database: DatabaseDep,
    file_format: Annotated[
        Format,
        Query(alias="format", description="`json`: a page that holds all `items`"),
    ] = "csv",
) -> StreamingResponse:
    """`samples` and `front` can be imported again.

    `jobs` has a row for each attempt.
    """
    media_type = (
        "text/csv; charset=utf-8" if file_format == "csv" else "application/json"
    )
    headers = {
        "Content-Disposition": f'attachment; filename="{name}-{what}.{file_format}"'
    }
    return StreamingResponse(
        export(database, name, what, file_format),
        media_type=media_type,
        headers=headers,
    )
