"""The reasons for which a campaign is not dialled now, as codes and sentences."""

from datetime import date

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from callcentre.core.statements import Statement, row_of
from campaigns.models import Campaign
from campaigns.models.dialling import ALL_DIALLING_RUNS

# Code -> sentence. The first four are of rows that people change; the dialler finds the others.
TEXTS: dict[str, str | Promise] = {
    "campaign_inactive": _("The campaign is inactive."),
    "outside_dates": _("The current day is outside the campaign's dates."),
    "all_dialling_stopped": _("All dialling is switched off."),
    "dialling_paused": _("The dialling of the campaign is paused."),
    "no_dialler": _("No dialler process is running."),
    "dialler_begins": _("The dialler begins with the campaign."),
    "no_switch": _("There is no connection to the PBX."),
    "no_line": _("The limits allow no more calls now."),
    "no_agent": _("No agent of the campaign in outbound mode is logged in."),
    "agents_busy": _("No agent of the campaign is free."),
    "phones_unreachable": _("The phones of the free agents could not be rung. They are tried again after 30 seconds."),
    "call_refused": _("The PBX has refused the last call. The next one follows after 10 seconds."),
    "trunk_failed": _(
        "No call gets through the trunk: the last ones failed before a phone rang. One call at a time tries it again, "
        "after pauses of up to 5 minutes."
    ),
    "agents_elsewhere": _("The free agents are needed by queues, or by campaigns that come first."),
    "no_record": _("No record may be called now."),
    "outside_hours": _("It is outside the calling hours of all records."),
}


# The lock of the row makes a pause of the campaign wait for the dials that have read it, and those after it see it.
_IS_SWITCHED_ON = Statement("""
SELECT is_dialling AND {all_dialling_runs} FROM campaigns_campaign WHERE id = %s FOR SHARE
""").of(all_dialling_runs=ALL_DIALLING_RUNS)


def is_switched_on(campaign: Campaign) -> bool:
    """Return whether the campaign's dialling and all dialling run. A pause waits for the end of the transaction."""
    row = row_of(_IS_SWITCHED_ON, [campaign.pk])
    return bool(row and row[0])


def reason(code: str) -> str:
    """Return the sentence of the code; "" for none."""
    return str(TEXTS.get(code, code))


def standing_obstacle(campaign: Campaign, day: date, *, is_running: bool) -> str:
    """Return the code of the first reason in the rows for which the campaign is not dialled, or ""."""
    if not campaign.is_active:
        return "campaign_inactive"
    if day < campaign.start_date or (campaign.end_date and day > campaign.end_date):
        return "outside_dates"
    if not is_running:
        return "all_dialling_stopped"
    return "" if campaign.is_dialling else "dialling_paused"
