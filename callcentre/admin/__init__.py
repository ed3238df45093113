"""The admin: what every app's admin shares, and the people and programs that may come in."""

from callcentre.admin.base import Admin, ReadOnlyAdmin, actor_of, user_of, without_buttons
from callcentre.admin.confirmations import confirm_first
from callcentre.admin.dates import DatesFilter
from callcentre.admin.deletions import DeletableMixin
from callcentre.admin.forms import EditConflictForm, ListField
from callcentre.admin.history import ChangeMixin, HistoryMixin
from callcentre.admin.inlines import Inline, WeekdaysInline
from callcentre.admin.links import cut, link, link_to, related, unbroken
from callcentre.admin.lists import ChangeList, UncountedChangeList, UncountedMixin
from callcentre.admin.periods import PeriodFilter
from callcentre.admin.theme import ModelForm, column, display, needs, never, page_action

# Registers our own models.
from callcentre.admin import api_users, audit_log, jobs, retention, users  # isort: skip
from callcentre.core.scope import may_see
