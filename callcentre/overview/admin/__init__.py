"""The overview and the wallboard, and the alarms that supervisors set."""

from callcentre.overview.admin import alarms
