import json
from pathlib import Path

from moet import load
from moet.cli.output import Exit


def test_demo(run, tmp_path):
    result = run("demo", "-o", tmp_path / "demo", "--json")
    assert result.exit_code == Exit.OK, result.stderr
    report = json.loads(result.stdout)
    assert report["evaluation"]["reward"] == 200
    assert report["reward_500_steps"] == 500
    assert report["evaluation"]["fidelity"] > 0.98
    assert "then right else left" in report["rules"] or "then left else right" in report["rules"]
    assert report["safe"] == "proved"
    assert Path(report["certificate"]).stat().st_size > 0
    assert load(report["model"]).size.leaves == 2
    assert (tmp_path / "demo" / "regions.png").read_bytes().startswith(b"\x89PNG")
