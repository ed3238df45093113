"""Sums that are kept ready, tables that people ask for, and those that come by themselves."""

from reports.models.export import Asked, Export
from reports.models.rollup import Rollup, StaleRollup, column_names

__all__ = ["Asked", "Export", "Rollup", "StaleRollup", "column_names"]
