import io
import time

from moet import progress


def test_a_log_gets_a_line_a_minute_also_while_a_step_takes_long(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    monkeypatch.setattr(progress, "MINUTE", 0.01)
    with progress.progress_bar("distilling", 3, shown=True) as advance:
        advance("reward 1")
        limit = time.monotonic() + 60
        while log.getvalue().count("distilling 1/3") < 2 and time.monotonic() < limit:
            time.sleep(0.01)
    assert log.getvalue().count("distilling 1/3 0:0") >= 2
    assert "reward 1" in log.getvalue()


def test_a_short_step_gets_one_line_at_its_end_and_silence_none(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    with progress.progress_bar("distilling", 2, shown=True) as advance:
        advance("a")
        advance("b")
    assert log.getvalue() == "distilling 2/2 0:00 b\n"
    with progress.progress_bar("distilling", 2, shown=False) as advance:
        advance("a")
    assert log.getvalue().count("\n") == 1


def test_what_is_being_done_is_told_a_line_each_or_not_at_all(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr("sys.stderr", log)
    for shown in (True, False):
        say = progress.told("proving", shown=shown)
        say("asking about the student")
    assert log.getvalue() == "proving: asking about the student\n"
