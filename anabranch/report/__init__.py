"""What happened: figures, text, HTML."""

from anabranch.report.log import WorkerLog
from anabranch.report.report import Report

__all__ = ["Report", "WorkerLog"]
