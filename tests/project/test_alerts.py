"""The alerts of docs/operations.md, tested by Prometheus' own tool."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
PROMTOOL = shutil.which("promtool")
UP = 'counterpoise_database_up{instance="a"}'
READY = 'counterpoise_jobs{study="wing", objective="crash", state="ready"}'
TAKEN_BY = 'counterpoise_queue_workers{study="wing", objective="crash"}'
# What is scraped every minute -> alerts after 20 minutes
CASES: list[tuple[dict[str, str], set[str]]] = [
    ({UP: "1+0x40", READY: "3+0x40", TAKEN_BY: "2+0x40"}, set()),
    ({}, {"ServersUnavailable"}),
    ({UP: "1 1 1 stale"}, {"ServersUnavailable"}),
    ({UP: "0+0x40"}, {"DatabaseUnavailable"}),
    # Workers of other objectives do not help
    (
        {
            UP: "1+0x40",
            READY: "3+0x40",
            TAKEN_BY: "0+0x40",
            "counterpoise_workers_alive": "5+0x40",
        },
        {"JobsWithoutWorkers"},
    ),
    # A paused study has no `counterpoise_queue_workers`
    ({UP: "1+0x40", READY: "3+0x40", "counterpoise_workers_alive": "0+0x40"}, set()),
    (
        {UP: "1+0x40", "counterpoise_oldest_due_step_seconds": "700+0x40"},
        {"StepOverdue"},
    ),
    ({UP: "1+0x40", "counterpoise_steps_faulty": "1+0x40"}, {"StepKeepsFailing"}),
    (
        {
            UP: "1+0x40",
            'counterpoise_lease_expiries_total{study="wing", objective="crash"}': "0+3x40",
        },
        {"LeasesExpire"},
    ),
]


def documented_rules() -> dict[str, Any]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    (rules,) = [block for block in blocks if block.startswith("groups:")]
    parsed: dict[str, Any] = yaml.safe_load(rules)
    return parsed


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    rules = documented_rules()
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    names = [rule["alert"] for rule in rules["groups"][0]["rules"]]
    assert set.union(*(fired for _, fired in CASES)) == set(names)
    tests = [case_test(series, fired, names) for series, fired in CASES]
    document = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "1m",
        "tests": tests,
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document))
    finished = subprocess.run(
        [str(PROMTOOL), "test", "rules", "test.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def case_test(series: dict[str, str], fired: set[str], names: list[str]) -> Any:
    labels = {"JobsWithoutWorkers": {"study": "wing", "objective": "crash"}}
    expected = [
        {
            "eval_time": "20m",
            "alertname": name,
            "exp_alerts": [{"exp_labels": labels.get(name, {})}]
            if name in fired
            else [],
        }
        for name in names
    ]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    return {"interval": "1m", "input_series": inputs, "alert_rule_test": expected}
