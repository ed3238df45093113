from typing import Any

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from callcentre.admin import ChangeMixin, ReadOnlyAdmin, UncountedMixin, display, related
from callcentre.admin.history import in_words
from campaigns.models import Attempt, RecordChange
from campaigns.models.status import as_read

ACTIONS = {
    "recycle": _("recycled"),
    "lease": _("call started"),
    "call": _("call ended"),
    "dial": _("called"),
    "result": _("result"),
    "result_refused": _("parts of the result not written"),
    "no_result": _("call without a result"),
    "transfer_failed": _("transfer failed"),
    **dict(Attempt.Outcome.choices),
}


@admin.register(RecordChange)
class RecordChangeAdmin(ChangeMixin, UncountedMixin, ReadOnlyAdmin):
    """The list answers what changed in records lately, and who changed it."""

    list_display = ("at", "record_link", "campaign", "what", "from_to", "who")
    list_display_links = ("at",)
    fields = ("at", "record_link", "campaign", "what", "from_to", "details", "who")
    action_labels = ACTIONS
    # No join: the table is larger than that of records, and a record may be deleted.
    prefetched = ("record__campaign",)

    @display(description=_("record"))
    def record_link(self, change: RecordChange) -> Any:
        return self.owner(change)

    @display(description=_("campaign"))
    def campaign(self, change: RecordChange) -> str:
        record = related(change, "record")
        return str(record.campaign) if record else ""

    @display(description=_("status"))
    def from_to(self, change: RecordChange) -> str:
        before = as_read(change.from_status, change.from_system_status)
        after = as_read(change.to_status, change.to_system_status)
        return after if before in ("", after) else f"{before} → {after}"

    def changes_of(self, change: RecordChange) -> list[tuple[Any, Any, Any]]:
        return [(name, in_words(old) or "–", in_words(new) or "–") for name, (old, new) in change.changes.items()]
