"""What a study says, as sentences, as tables, and as one page that loads nothing."""

from moet.study.report.contents import TaskReport, all_outcomes, overview, task_reports
from moet.study.report.page import report_page
from moet.study.report.sentences import findings, verdict

__all__ = ["TaskReport", "all_outcomes", "findings", "overview", "report_page", "task_reports", "verdict"]
