"""The pages of dialling: of one campaign, of compliance, and the switch of all dialling."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, reverse
from django.utils import timezone
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from callcentre.admin import Admin, ReadOnlyAdmin, UncountedMixin, actor_of, column, display, link, page_action
from callcentre.admin.base import REFUSALS
from callcentre.admin.scope import AutocompleteSelectFilter, scope_of
from callcentre.admin.theme import ModelForm
from callcentre.core.actor import Actor
from callcentre.core.integers import integer_of
from callcentre.core.spreadsheets import CsvWriter
from campaigns.dialling.compliance import compliance
from campaigns.dialling.day_counts import CallCounts, of_days, of_hour
from campaigns.dialling.status import DiallingStatus, dialling_status
from campaigns.models import Campaign, DiallingSwitch, RecordOffer
from campaigns.verbs.dialling import pause_dialling, start_dialling, stop_dialling, switch_dialling
from telephony.admin.state_labels import LABELS

WIDTH, HEIGHT = 600, 120
# Columns that a chart has at least.
FEWEST = 7
# Kind of bar -> its label, from the bottom of a column to its top.
KINDS: dict[str, Any] = {"answered": _("answered"), "dropped": _("dropped"), "others": _("not answered")}


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a column: `kind` is the part, the rest are attributes of the drawing."""

    kind: str
    x: str
    y: str
    width: str
    height: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns of calls. `most` is the height of the highest, in calls."""

    bars: list[Bar]
    first: str
    last: str
    most: int
    rows: list[CallCounts]


def chart_of(columns: Sequence[CallCounts]) -> Chart:
    """Draw the columns from the first one with calls on: a chart of a new campaign is not empty but for its end."""
    first = next((place for place, column in enumerate(columns) if column.placed), len(columns))
    columns = columns[min(first, max(len(columns) - FEWEST, 0)) :]
    most = max((day.placed for day in columns), default=0)
    step = WIDTH / max(len(columns), 1)
    bars = []
    for place, day in enumerate(columns):
        top = 0.0
        others = day.placed - day.answered - day.dropped
        for kind, count in zip(KINDS, (day.answered, day.dropped, others), strict=True):
            if count <= 0:
                continue
            height = HEIGHT * count / max(most, 1)
            top += height
            title = f"{day.label}: {count} {KINDS[kind]}"
            x, y = f"{place * step + 1:.1f}", f"{HEIGHT - top:.1f}"
            bars.append(Bar(kind, x, y, f"{step - 2:.1f}", f"{height:.1f}", title))
    return Chart(bars, columns[0].label, columns[-1].label, most, [row for row in columns if row.placed])


STATES: Mapping[str, tuple[Any, str]] = {
    "dialling": (_("Calls are placed."), "success"),
    "waiting": (_("Waiting"), "info"),
    "paused": (_("Paused"), "danger"),
    "stopped": (_("Stopped"), "danger"),
}
VERBS: Mapping[str, Callable[[Campaign, Actor], None]] = {
    "start": start_dialling,
    "pause": pause_dialling,
    "stop": stop_dialling,
}
DONE: Mapping[str, Any] = {
    "start": _("The dialling of the campaign is started."),
    "pause": _("The dialling of the campaign is paused."),
    "stop": _("The dialling of the campaign is paused, and calls without an answer are hung up."),
}
SWITCHES: Mapping[str, Any] = {
    "start": pgettext_lazy("dialling", "started"),
    "pause": pgettext_lazy("dialling", "paused"),
    "stop": pgettext_lazy("dialling", "stopped"),
}
LIVE = forms.Media(css={"all": ("campaigns/dialling.css",)}, js=("callcentre/live.js",))
# Switches that the page shows.
SHOWN_SWITCHES = 5
COLUMNS = (
    *("outbound_id", "name", "day", "attempts", "live_answers", "drops", "drop_rate_percent", "machines"),
    "outside_legal_hours",
)


class DiallingPages(Admin):
    def get_urls(self) -> list[URLPattern]:
        return [
            self.url_to("compliance/", self.compliance_view, "compliance"),
            self.url_to("compliance/download/", self.compliance_download, "compliance_download"),
            *super().get_urls(),
        ]

    @page_action(description=_("Dialling"), url_path="dialling", icon="phone_in_talk", permissions=["view"])
    def dialling(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the dialling of a campaign live, and start, pause or stop it."""
        campaign: Campaign = self.row_or_404(request, object_id, "view")
        if request.method == "POST":
            return self._switch_dialling(request, campaign)
        now, status = timezone.now(), dialling_status(campaign)
        switches = campaign.dialling_switches.order_by("-id")
        label, colour = STATES[status.state]
        return self.page(
            request,
            "admin/campaigns/dialling.html",
            campaign,
            title=_now("Dialling"),
            media=self.media + LIVE,
            status=status,
            label=label,
            colour=colour,
            agents=[(LABELS[state], count) for state, count in status.agents.items()],
            records=_records(status),
            hour=chart_of(of_hour(campaign, now)),
            days=chart_of(of_days(campaign, timezone.localdate(now))),
            kinds=KINDS.items(),
            switches=[(row, SWITCHES.get(row.action)) for row in switches[:SHOWN_SWITCHES]],
            may_change=self.has_change_permission(request, campaign),
            back_url=self.url_of("change", campaign.pk),
            compliance_url=f"{self.url_of('compliance')}?campaign={campaign.pk}",
        )

    def _switch_dialling(self, request: HttpRequest, campaign: Campaign) -> HttpResponse:
        if not self.has_change_permission(request, campaign):
            raise PermissionDenied
        if verb := VERBS.get(wanted := request.POST.get("switch", "")):
            try:
                verb(campaign, actor_of(request))
            except REFUSALS as error:
                self.say_refused(request, error)
            else:
                self.message_user(request, str(DONE[wanted]), messages.SUCCESS)
        return redirect(request.path)

    # Compliance

    def compliance_view(self, request: HttpRequest) -> HttpResponse:
        """Show drop rates by day and in 30 days, attempts, and calls outside legal hours."""
        chosen, campaigns = self._chosen(request)
        found = compliance(campaigns, timezone.localdate())
        query = f"?campaign={chosen.pk}" if chosen else ""
        return self.page(
            request,
            "admin/campaigns/compliance.html",
            chosen,
            title=_now("Compliance"),
            # The heading is that of the page: it is about all campaigns.
            opts=None,
            content_title=_now("Compliance"),
            found=found,
            total=found.total,
            campaigns=sorted(found.by_campaign.items(), key=lambda item: (-item[1].drop_rate, item[0].code)),
            days=found.by_day.items(),
            all_url=self.url_of("compliance"),
            download_url=f"{self.url_of('compliance_download')}{query}",
        )

    def compliance_download(self, request: HttpRequest) -> HttpResponse:
        """Answer with the figures of each campaign and day as CSV."""
        _chosen, campaigns = self._chosen(request)
        found = compliance(campaigns, timezone.localdate())
        written = io.StringIO("\ufeff")
        written.seek(0, io.SEEK_END)
        writer = CsvWriter(written)
        writer.write([COLUMNS])
        writer.write(
            (
                *(campaign.code, campaign.name, day.isoformat(), figures.attempts, figures.live_answers),
                *(figures.drops, figures.drop_rate, figures.machines, figures.outside_hours),
            )
            for (campaign, day), figures in found.by_campaign_and_day.items()
        )
        response = HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8")
        name = f"compliance-{found.until:%Y-%m-%d}.csv"
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    def _chosen(self, request: HttpRequest) -> tuple[Campaign | None, dict[int, Campaign]]:
        """Return the campaign of the address, or None, and the campaigns to show."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        pk = integer_of(request.GET.get("campaign", ""))
        campaigns = scope_of(request).within(Campaign.objects.all()).in_bulk([pk] if pk else None)
        return campaigns.get(pk) if pk else None, campaigns


def _records(status: DiallingStatus) -> list[tuple[Any, int]]:
    labels = {
        "to_call": _("to be called"),
        "due": _("of them now"),
        "not_callable_now": _("of them later"),
        "in_progress": _("in a call"),
        "done": _("done"),
    }
    return [(label, status.records[name]) for name, label in labels.items()]


class SwitchForm(ModelForm):
    class Meta:
        model = DiallingSwitch
        fields = ("is_running", "reason")
        labels = {"is_running": _("All dialling")}
        help_texts = {"is_running": _("Off: no call of any campaign is placed.")}


@admin.register(DiallingSwitch)
class DiallingSwitchAdmin(ReadOnlyAdmin):
    """The list answers who switched dialling on or off, when and why. A new row switches all dialling."""

    form = SwitchForm
    list_display = ("at", "what", "campaign", "reason", "actor_name")
    list_display_links = ("at",)
    list_select_related = ("campaign",)
    list_filter = ("is_running",)
    fields = ("at", "what_in_words", "campaign", "reason", "actor_name")
    fixed_fields = fields
    list_before_template = "admin/campaigns/all_dialling.html"
    # For the audit log.
    action_labels = SWITCHES
    about_all = _("All dialling")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse people with a scope of campaigns: a new row switches the dialling of all campaigns."""
        return request.user.has_perm("campaigns.add_diallingswitch") and scope_of(request).outbounds is None

    def get_fields(self, request: HttpRequest, obj: DiallingSwitch | None = None) -> tuple[str, ...]:
        return self.fields if obj else ("is_running", "reason")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        newest = DiallingSwitch.objects.of_all().first()
        shown = {"newest": newest, "is_running": newest is None or newest.is_running}
        return super().changelist_view(request, {**(extra_context or {}), **shown})

    @display(description=_("switch"), label={"success": "success", "danger": "danger"})
    def what(self, switch: DiallingSwitch) -> tuple[str, Any]:
        if switch.campaign_id is None:
            label = _("all dialling on") if switch.is_running else _("all dialling off")
        else:
            label = SWITCHES.get(switch.action, switch.action)
        return "success" if switch.is_running else "danger", label

    @display(description=_("switch"))
    def what_in_words(self, switch: DiallingSwitch) -> str:
        return str(self.what(switch)[1])

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in ("is_running", "reason")}
        obj.__dict__.update(switch_dialling(actor_of(request), **values).__dict__)


@admin.register(RecordOffer)
class RecordOfferAdmin(UncountedMixin, ReadOnlyAdmin):
    """The list answers which records were offered to which agents, and what became of the offers."""

    list_display = ("offered_at", "agent", "campaign", "record", "end_shown", "ended_at", "reason")
    list_display_links = ("offered_at",)
    list_select_related = ("agent", "campaign")
    list_filter = (("agent", AutocompleteSelectFilter), ("campaign", AutocompleteSelectFilter))
    fields = ("agent", "campaign", "record", "offered_at", "expires_at", "ended_at", "end_shown", "reason")

    end_shown = column(lambda offer: offer.get_end_display() or _("open"), description=_("end"))

    @display(description=_("record"))
    def record(self, offer: RecordOffer) -> str:
        return link(reverse("admin:campaigns_record_change", args=[offer.record_id]), offer.record_id)
