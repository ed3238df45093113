"""The page on which a supervisor uploads the message of a campaign's dropped calls."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from callcentre.admin import Admin, actor_of, page_action
from campaigns.dialling.drop_messages import set_message
from campaigns.models import Campaign
from telephony.admin.menus import SoundField
from telephony.sounds import signed_path
from telephony.wav import LONGEST_SECONDS


class MessageForm(forms.Form):
    sound = SoundField(
        label=_("WAV file"),
        required=False,
        help_text=_("A person whose call finds no agent within two seconds hears it. Empty: the message is removed."),
    )


class DropMessagePage(Admin):
    @page_action(
        description=_("Message of dropped calls"), url_path="drop-message", icon="voicemail", permissions=["change"]
    )
    def drop_message(self, request: HttpRequest, object_id: str) -> HttpResponse:
        campaign: Campaign = self.row_or_404(request, object_id, "change")
        form = MessageForm(request.POST, request.FILES) if request.method == "POST" else MessageForm()
        if form.is_valid():
            set_message(campaign, actor_of(request), form.cleaned_data["sound"])
            said = _now("The message is stored.") if campaign.drop_message else _now("The campaign has no message.")
            self.message_user(request, said, messages.SUCCESS)
            self.log_change(request, campaign, said)
            return redirect(self.url_of("change", campaign.pk))
        return self.action_page(
            request,
            title=_now("Message of dropped calls"),
            submit=_now("Save"),
            form=form,
            obj=campaign,
            intro=_present(campaign),
            takes_files=True,
        )


def _present(campaign: Campaign) -> Any:
    """Return a sentence about the message that the campaign has now."""
    if not campaign.drop_message:
        return _now("The campaign has no message. Dropped calls are hung up at once.")
    sentence = _now("Dropped calls hear a message. The new one may last %(seconds)s seconds.")
    listen = format_html('<a href="{}">{}</a>', signed_path(str(campaign.drop_message.name)), _now("Listen"))
    return format_html("{} {}", sentence % {"seconds": LONGEST_SECONDS}, listen)
