"""Sums that are kept ready, tables that people ask for, and those that come by themselves."""

from reports.models.export import Asked, Export
from reports.models.mail import ExportMail
from reports.models.rollup import Rollup, RollupProgress
from reports.models.schedule import Schedule, ScheduleChange

__all__ = ["Asked", "Export", "ExportMail", "Rollup", "RollupProgress", "Schedule", "ScheduleChange"]
