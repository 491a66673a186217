"""A front that is kept between requests is the same as one computed anew."""

from fastapi.testclient import TestClient

from app.service.studies.front import front_view
from app.service.studies.kept_fronts import kept_fronts
from app.store.database import Database
from tests.api.wing import SPEC, Wing


def numbers(database: Database) -> list[int]:
    return sorted(item.sample for item in front_view(database, "wing").items)


def computed_anew(database: Database, database_url: str) -> list[int]:
    other = Database(database_url)
    try:
        return numbers(other)
    finally:
        other.close()


def test_kept_front_follows_values_and_exclusions(
    client: TestClient, database: Database, database_url: str
) -> None:
    wing = Wing(client, database, {**SPEC, "budget": 6})
    assert client.post("/studies", json=wing.spec).status_code == 201
    assert numbers(database) == []
    while wing.plan() + wing.work():
        assert numbers(database) == computed_anew(database, database_url)
    before = numbers(database)
    assert before
    kept = kept_fronts(database).get(1)
    assert kept is not None
    assert numbers(database) == before
    exclude = f"/studies/wing/samples/{before[0]}/exclude"
    assert client.post(exclude).status_code == 200
    without = numbers(database)
    assert before[0] not in without
    assert without == computed_anew(database, database_url)
    assert client.post(exclude.replace("exclude", "restore")).status_code == 200
    assert numbers(database) == before
