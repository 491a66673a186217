"""`study create`, from JSON and YAML files."""

import json
from pathlib import Path

import pytest

from counterpoise.wire.problems import Fault
from counterpoise.wire.specification import EXAMPLE, NAME_RULE
from tests.commands.conftest import Run
from tests.commands.fake_api import STUDY, FakeApi, problem


def write(folder: Path, text: str) -> str:
    file = folder / "study.yaml"
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize(
    ("status", "message"),
    [(201, "study wing created;"), (200, "exists already, with the same")],
)
def test_create_sends_what_was_written(
    run: Run, api: FakeApi, tmp_path: Path, status: int, message: str
) -> None:
    api.responses["POST /studies"] = (status, STUDY.model_dump())
    written = {
        key: EXAMPLE[key] for key in ("name", "variables", "objectives", "budget")
    }
    file = write(tmp_path, json.dumps(written, indent="\t"))
    result = run("study", "create", file)
    assert result.exit_code == 0, result.output
    assert message in result.stdout
    assert ("strategy: counterpoise" in result.stdout) == (status == 201)
    assert api.requests == [("POST /studies", written)]
    assert (
        json.loads(run("study", "create", file, "--json").stdout) == STUDY.model_dump()
    )
    assert run("study", "create", "-", stdin=json.dumps(EXAMPLE)).exit_code == 0
    assert api.requests[-1] == ("POST /studies", EXAMPLE)


YAML = """
# 1e-4, 1E3, +2 and 010 are numbers; no, 1:30, 2026-01-01 and y are texts
name: 2026-01-01
variables:
  - &a {name: no, low: 1e-4, high: 1E3, scale: log}
  - {name: y, type: int, low: +2, high: 010}
  - {<<: *a, name: b, low: .5, high: 1_0}
objectives:
  - name: on
    unit: 1:30
budget: 0x40
seed: null
ratios: ~
notes:
"""


def test_yaml_is_read_by_the_rules_of_its_version_1_2(
    run: Run, api: FakeApi, tmp_path: Path
) -> None:
    result = run("study", "create", write(tmp_path, YAML))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[1:] == [
        "  line 7, #/variables/2/high: Input should be a valid number",
        "  line 14, #/notes: Input should be a valid string",
    ]
    api.responses["POST /studies"] = (201, STUDY.model_dump())
    repaired = YAML.replace("1_0", "10").replace("notes:", "notes: 'no'")
    assert run("study", "create", write(tmp_path, repaired)).exit_code == 0
    assert api.requests == [
        (
            "POST /studies",
            {
                "name": "2026-01-01",
                "variables": [
                    {"name": "no", "low": 0.0001, "high": 1000.0, "scale": "log"},
                    {"name": "y", "type": "int", "low": 2, "high": 10},
                    {"name": "b", "low": 0.5, "high": 10, "scale": "log"},
                ],
                "objectives": [{"name": "on", "unit": "1:30"}],
                "budget": 64,
                "seed": None,
                "ratios": None,
                "notes": "no",
            },
        )
    ]


def test_create_lists_every_fault_and_sends_nothing(
    run: Run, api: FakeApi, tmp_path: Path
) -> None:
    bad = {**EXAMPLE, "budget": 3, "strategy": "sbp", "batchsize": 4}
    result = run("study", "create", write(tmp_path, json.dumps(bad)))
    assert result.exit_code == 2
    assert "is not a valid specification" in result.stderr
    for line in (
        "#/strategy: must be one of",
        "#/batchsize: there is no such field; did you mean",
        "#/budget: the budget",
    ):
        assert line in result.stderr
    assert api.requests == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"name": "a"',
            "neither JSON nor YAML: Expecting ',' delimiter: line 1 column 13",
        ),
        ("{name: a}", "line 1, #/budget: is required"),
        (
            '{\n"name": "a",\n"budget": "b"}',
            "line 3, #/budget: Input should be a valid integer",
        ),
        (
            '{\n\t"name": 3}',
            "#/name: Input should be a valid string",
        ),  # with tabs, which YAML does not have
        ("name: &a [*a]", "line 1, #/name: Input should be a valid string"),
        ("a: [", "neither JSON nor YAML: while parsing"),
        ("name: !!binary aGk=", "could not determine a constructor"),
        (
            "name: !!python/object/apply:os.getcwd []",
            "could not determine a constructor",
        ),
        ("[" * 2000, "neither JSON nor YAML"),
        ("", "a specification is an object"),
    ],
)
def test_create_refuses_an_unreadable_document(
    run: Run, api: FakeApi, tmp_path: Path, text: str, message: str
) -> None:
    result = run("study", "create", write(tmp_path, text))
    assert (result.exit_code, api.requests) == (2, [])
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_create_without_a_readable_file(run: Run, tmp_path: Path) -> None:
    assert (
        "cannot read nowhere.yaml: No such file"
        in run("study", "create", "nowhere.yaml").stderr
    )
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    result = run("study", "create", str(tmp_path / "binary"))
    assert result.exit_code == 2
    assert "it is not UTF-8 text" in result.stderr


def test_a_refusal_is_printed_with_all_its_faults(
    run: Run, api: FakeApi, tmp_path: Path
) -> None:
    file = write(tmp_path, json.dumps(EXAMPLE))
    faults = [
        Fault(pointer="#/a", detail="is [red]odd[/red]"),
        Fault(pointer="#/b", detail="is even"),
    ]
    api.responses["POST /studies"] = problem(422, "2 faults", *faults)
    result = run("study", "create", file)
    assert result.exit_code == 1
    assert (
        result.stderr == "Error: 2 faults\n  #/a: is [red]odd[/red]\n  #/b: is even\n"
    )
    api.responses["POST /studies"] = problem(
        409, "there is a study 'wing' with another specification"
    )
    assert (
        run("study", "create", file).stderr
        == "Error: there is a study 'wing' with another specification\n"
    )


@pytest.mark.parametrize("command", [["study", "create"], ["run"]])
def test_names_in_other_scripts_are_refused_with_the_rule_and_their_line(
    run: Run, tmp_path: Path, command: list[str]
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "name: plate\nbudget: 30\nvariables: [{name: a, low: 0, high: 1}]\n"
        "objectives:\n- name: μάζα\n- name: 质量\n"
    )
    result = run(*command, str(file))
    assert result.exit_code == 2
    refused = " ".join(result.stderr.split())
    assert refused.count(NAME_RULE) == 2
    assert "line 5" in refused
    assert "line 6" in refused
