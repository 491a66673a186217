"""The study that a request names."""

from app.domain.studies import Study
from app.errors import StudyUnknown
from app.store.database import Connection
from app.store.studies.studies import find_study, study_names
from counterpoise.wire.problems import did_you_mean


def require_study(connection: Connection, name: str, *, lock: bool = False) -> Study:
    """The study of this name, or StudyUnknown."""
    study = find_study(connection, name, lock=lock)
    if study is None:
        raise StudyUnknown(
            f"there is no study {name!r}{did_you_mean(name, study_names(connection))}"
        )
    return study
