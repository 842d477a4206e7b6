"""What a person who signs needs to know about a model of a table: one page, with certificates."""

from moet.study.audit.findings import Audit, audit
from moet.study.audit.page import audit_page

__all__ = ["Audit", "audit", "audit_page"]
