"""Sums that are kept ready, tables that people ask for, and those that come by themselves."""

from reports.models.export import Asked, Export, ExportMail, Schedule, ScheduleChange
from reports.models.rollup import Rollup, RollupProgress
