"""Faults of CSV and JSON files, each with its place."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import ImportInvalid
from app.service.files.csv_reader import read_csv
from app.service.files.import_evaluations import import_evaluations
from app.service.files.json_reader import read_json
from app.store.database import Database
from tests.service.lab import Lab


@pytest.fixture
def sqlite_lab(sqlite_template: Path, tmp_path: Path) -> Iterator[Lab]:
    """Reading files needs no second database."""
    shutil.copy(sqlite_template, tmp_path / "counterpoise.db")
    database = Database(f"sqlite:///{tmp_path / 'counterpoise.db'}")
    yield Lab(database)
    database.close()


HEADER = "a,b,mass,crash\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("line 1", "the file is empty; its first line names the columns")]),
        ("a;b;mass\n0,5;1;2\n", [("line 1", "the columns are separated by a semicolon; separate them by commas")]),
        ("a\tb\n", [("line 1", "the columns are separated by a tab")]),
        ("a,b,mas\n", [("line 1, mas", "no variable, objective or constraint 'mas'; did you mean 'mass'?")]),
        ("a,b,colour\n", [("line 1, colour", "'colour'; leave this column out")]),
        ("a,mass,mass\n", [("line 1, mass", "there are two such columns"), ("line 1", "there is no column 'b'")]),
        (HEADER + "0.1,0.2,1\n", [("line 2", "the row has 3 cells and the header 4")]),
        (HEADER + '"0,1",0.2,1,\n', [("line 2, a", "'0,1' is not a number; write decimals with a point")]),
        (HEADER + "\n0.1,,1,\n", [("line 3, b", "variable 'b' needs a value")]),
        (HEADER + "0.1,1.5,1,\n0.1,0.2,nan,\n", [("line 2, b", "1.5 is outside 0.0 to 1.0"), ("line 3, mass", "nan")]),
        (HEADER + "0.1,1e999,inf,\n", [("line 2, b", "inf is outside"), ("line 2, mass", "'inf' is not a number")]),
        (HEADER + "0.1,0.2,1e101,\n", [("line 2, mass", "a value lies within -1e+100 and 1e+100, not 1e+101")]),
        (HEADER + "0.1,0.2,1_000,١\n", [("line 2, mass", "'1_000' is not"), ("line 2, crash", "is not a number")]),
        (HEADER + '0.1,"0.2\n', [("line 2", "not CSV: unexpected end of data")]),
        ('a,"b\n0.1,0.2\n', [("line 1", "not CSV: unexpected end of data")]),
        (HEADER + '0.1,"0.2"3,1,\n', [("line 2", "not CSV")]),
    ],
)  # fmt: skip
def test_faults_of_csv_have_their_lines(
    sqlite_lab: Lab, text: str, found: list[tuple[str, str]]
) -> None:
    check_faults(sqlite_lab, read_csv, text.encode(), found)


def test_text_in_another_encoding_is_a_fault(sqlite_lab: Lab) -> None:
    check_faults(
        sqlite_lab,
        read_csv,
        (HEADER + "0.1,0.2,1,ü").encode("latin-1"),
        [("line 2", "this is not UTF-8 text")],
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{", [("#", "not JSON")]),
        ('{"x": {}}', [("#", "must be a list of")]),
        ('{"items": 3}', [("#", "must be a list of")]),
        ("[3]", [("#/0", "must be an object such as")]),
        ('{"items": [{"y": 1}]}', [("#/items/0/y", "there is no such field; there are x, values, failures")]),
        ('[{"x": [1, 2]}]', [("#/0/x", "must be an object: name to value")]),
        ('[{"x": {"a": 0.5, "c": 1}}]', [("#/0/x/c", "the study has no variable 'c'")]),
        ('[{"x": {"a": 0.5, "b": 0}, "values": {"mas": 1}}]', [("#/0/values/mas", "'mas'; did you mean 'mass'?")]),
        ('[{"x": {"a": true, "b": NaN}}]', [("#/0/x/a", "True is not a number"), ("#/0/x/b", "nan is outside")]),
        ('[{"x": {"a": 0, "b": 0}, "values": {"mass": Infinity}}]', [("#/0/values/mass", "a value lies within")]),
        ('[{"x": {"a": 0.5}}, {"x": {"a": 0.5, "b": "0.5"}}]', [("#/0/x/b", "needs a value"), ("#/1/x/b", "'0.5' is")]),
        ('[{"x": {"a": 1%s, "b": 0}}]' % ("0" * 400), [("#/0/x/a", "is outside 0.0 to 1.0")]),
        ('[{"x": {"a": 0, "b": 0}, "failures": {"mass": "no"}}]', [("#/0/failures/mass", "'no' is not a kind")]),
        ('[{"x": {"a": 0, "b": 0}, "failures": {"mass": [1]}}]', [("#/0/failures/mass", "[1] is not a kind")]),
        ('[{"x": {"\\ud800": 1}}]', [("#/0/x/?", "the study has no variable")]),
        ("[" * 100_000, [("#", "not JSON")]),
    ],
)  # fmt: skip
def test_faults_of_json_have_their_pointers(
    sqlite_lab: Lab, text: str, found: list[tuple[str, str]]
) -> None:
    check_faults(sqlite_lab, read_json, text.encode(), found)


def test_integers_are_whole(sqlite_lab: Lab) -> None:
    lab = Lab(
        sqlite_lab.database,
        name="ribs",
        variables=[{"name": "a", "type": "int", "low": 1, "high": 5}],
    )
    found = [
        ("line 2, a", "'a' is an integer, 2.5 is not"),
        ("line 3, a", "6.0 is outside 1.0 to 5.0"),
    ]
    check_faults(lab, read_csv, b"a,mass\n2.5,1\n6,1\n3.0,1\n", found)


def check_faults(
    lab: Lab, reader: Any, content: bytes, found: list[tuple[str, str]]
) -> None:
    with pytest.raises(ImportInvalid) as caught:
        import_evaluations(
            lab.database,
            lab.name,
            lambda spec: reader(spec, content),
            evaluate=False,
            dry_run=False,
        )
    said = [(fault.pointer, fault.detail) for fault in caught.value.faults]
    assert [place for place, _ in said] == [place for place, _ in found]
    for (_, words), (_, wanted) in zip(said, found, strict=True):
        assert wanted in words
