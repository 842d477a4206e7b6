"""Sentences, tables and the page without a browser."""

import json
import re

import pytest

from moet.study.report import all_outcomes, findings, overview, report_page, task_reports, verdict
from moet.study.report.page import MAX_LINES, _shortened
from moet.study.tables import to_csv

from .making import outcome

PROOF = {"question": "it stays <upright>", "verdict": "Proved", "seconds": 0.25}


def one(*outcomes):
    (report,) = task_reports(outcomes)
    return report


@pytest.fixture
def report():
    return one(
        outcome("VIPER", (150.0, 0.8), (140.0, 0.7), depth=1),
        outcome("VIPER", (190.0, 0.9), (180.0, 0.88), depth=4),
        outcome("MoËT_h", (200.0, 0.99), (199.0, 0.98), experts=2, depth=0, verification=PROOF),
        outcome("MoËT", (150.0, 0.995), (151.0, 0.996), experts=4, depth=0),
    )


def test_what_is_said_when_mixtures_win(report):
    said = findings(report)
    assert said[0] == "On fresh episodes the global front holds 2 models: 1 MoËT and 1 MoËT_h."
    assert said[1].endswith("the mixtures are ahead.")
    assert said[2] == (
        "The model chosen for its reward, MoËT_h E2-D0 (seed 0), comes to 199.00 (198.00 … 200.00), within noise of "
        "its teacher's 200.00; the one chosen for its fidelity, MoËT E4-D0 (seed 0), to 0.9960."
    )
    assert said[3] == (
        "Of 2 models on the global front before re-evaluation 2 stayed on it; on average their reward changed by +0.00 "
        "and their fidelity by -0.0045."
    )
    assert said[4] == (
        "VIPER saturates in reward not up to depth 4, in fidelity not up to depth 4 (one run per depth: noise is not "
        "known)."
    )
    assert said[5] == "Asked of 1 model whether it stays <upright>, the prover took 0.25 to 0.25 s: 1 proved."


def test_what_is_said_when_trees_win():
    report = one(outcome("VIPER", (200.0, 0.99)), outcome("MoËT", (150.0, 0.8)), outcome("MoËT", (100.0, 0.7), seed=1))
    assert findings(report)[0] == "On fresh episodes the global front holds 1 model: 1 VIPER (MoËT_h not tried)."
    assert "VIPER 1.0000: VIPER is ahead." in findings(report)[1]
    assert verdict([report]) == (
        "On fresh episodes a mixture is on the global front of 0 of 1 task. The fronts of mixtures cover more than "
        "that of trees on 0, as much on 0, less on 1."
    )


def test_what_is_said_when_nothing_differs():
    report = one(outcome("VIPER", (200.0, 0.9)), outcome("MoËT_h", (200.0, 0.9)))
    assert findings(report)[1].endswith("they are level.")
    assert "as much on 1, less on 0" in verdict([report])


@pytest.mark.parametrize(("reward", "relation"), [(203.0, "above"), (197.0, "below")])
def test_the_teacher_is_above_or_below(reward, relation):
    assert f"{relation} its teacher's 200.00" in findings(one(outcome("VIPER", (reward, 0.9))))[1]


def test_what_is_said_when_there_is_nothing_to_compare():
    report = one(outcome("MoËT_h", (200.0, 0.9)))
    assert findings(report)[0].endswith("1 MoËT_h (VIPER and MoËT not tried).")
    assert not any("VIPER saturates" in sentence or "ahead" in sentence for sentence in findings(report))
    assert verdict([report]).startswith("No task has both")


def test_tables(report):
    tables = {table.name: table for table in report.tables()}
    assert list(tables) == [
        f"cartpole-{name}"
        for name in ("front-before", "reevaluated", "front-after", "front-size", "saturation", "verification")
    ]
    before = tables["cartpole-front-before"]
    assert [column.title for column in before.columns][:4] == ["Model", "Configuration", "Training", "Seed"]
    assert [row[:3] for row in before.rows] == [("MoËT", "E4-D0", "default"), ("MoËT_h", "E2-D0", "default")]
    assert [row[-1] for row in tables["cartpole-reevaluated"].rows] == ["on the front", "on the front"]
    assert tables["cartpole-verification"].rows[0][-3:] == ("it stays <upright>", "Proved", 0.25)
    (row,) = overview([report]).rows
    assert (row[0], row[3:6], row[-1]) == ("cartpole", (0, 1, 1), "> 4")
    assert len(all_outcomes(report.outcomes).rows) == 4
    assert to_csv(all_outcomes(report.outcomes)).count("\n") == 5


def test_trainings_are_told_apart():
    boosted = outcome("MoËT", (200.0, 0.99), settings={"gate": "boosting"})
    report = one(outcome("MoËT", (150.0, 0.8)), boosted, outcome("VIPER", (10.0, 0.5)))
    assert sorted(row[3] for row in all_outcomes(report.outcomes).rows) == ["", "boosting", "default"]
    assert "MoËT E2-D3 (boosting, seed 0)" in findings(report)[2]


def test_what_cannot_be_compared_is_not_in_one_report():
    ours, theirs = ({"gate": "default", "teacher": digest} for digest in ("1234567890", "abcdefghij"))
    reports = task_reports([outcome("MoËT", (1.0, 0.5), settings=s) for s in (ours, theirs, ours)])
    assert [(report.task, len(report.outcomes)) for report in reports] == [
        ("cartpole (10 episodes, teacher 12345678)", 2),
        ("cartpole (10 episodes, teacher abcdefgh)", 1),
    ]


def test_tables_do_not_depend_on_the_order_of_outcomes(report):
    backwards = one(*report.outcomes[::-1])
    assert [to_csv(table) for table in backwards.tables()] == [to_csv(table) for table in report.tables()]


def test_a_table_of_a_task_with_an_awkward_name():
    report = one(outcome("VIPER", (1.0, 0.5), task="ALE/Pong-v5"))
    assert {table.name.removeprefix("ALE-Pong-v5-") for table in report.tables()} >= {"front-before", "saturation"}


def content_of(text):
    return json.loads(re.search(r'<script type="application/json" id="content">(.*?)</script>', text)[1])


def test_the_page_is_complete_and_loads_nothing(report):
    text = report_page([report])
    assert "{{" not in text
    assert not re.search(r"""(src|href)\s*=\s*["'](?!#)""", text)
    assert "default-src 'none'" in text
    (task,) = content_of(text)["tasks"]
    assert len(task["models"]) == 4
    assert (task["before"]["global"], task["after"]["families"]["VIPER"]) == ([2, 3], [1])
    assert "score 3" in task["models"][2]["text"]


def test_names_from_strangers_are_escaped(report):
    evil = "</script><img src=x onerror=alert(1)>"
    text = report_page([*task_reports([outcome("VIPER", (1.0, 0.5), task=evil, settings={evil: evil})]), report])
    assert evil not in text
    assert "<upright>" not in text
    assert content_of(text)["tasks"][0]["models"][0]["settings"] == [[evil, evil]]


def test_long_policies_are_shortened(report, monkeypatch):
    assert _shortened("a\nb") == "a\nb"
    lines = _shortened("line\n" * (MAX_LINES + 9)).split("\n")
    assert (len(lines), lines[-1]) == (MAX_LINES + 1, "… and 10 more lines")
    monkeypatch.setattr("moet.study.report.page.MAX_TEXT", 1)
    (task,) = content_of(report_page([report]))["tasks"]
    assert sum(model["text"] is not None for model in task["models"]) == 1
    assert task["models"][report.fronts.chosen[0]]["text"] is not None
