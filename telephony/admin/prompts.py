"""Prompts as rows of the page of their queue or menu, each with a WAV file to upload and to hear."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminFileFieldWidget

from callcentre.admin import Inline, display
from callcentre.admin.theme import ModelForm
from callcentre.core.deletions import FileRemoval
from telephony import sounds
from telephony.models import Prompt
from telephony.samples import BYTES, RATE
from telephony.wav import to_telephone

# Of the WAV that `to_telephone` makes.
HEADER_BYTES = 44


class SoundField(forms.FileField):
    """A WAV file. Its value is the sound as switches play it, or None."""

    widget = UnfoldAdminFileFieldWidget(attrs={"accept": ".wav,audio/wav"})

    def clean(self, data: Any, initial: Any = None) -> bytes | None:
        file = super().clean(data, initial)
        if not file:
            return None
        if file.size > settings.MAX_UPLOAD_MB * 1024 * 1024:
            raise forms.ValidationError(_("The file is too large."))
        return to_telephone(file)


class PromptForm(ModelForm):
    sound = SoundField(label=_("WAV file"), required=False)

    class Meta:
        model = Prompt
        fields = ("kind", "language", "number")

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.instance.file and not values.get("sound") and "sound" not in self.errors:
            self.add_error("sound", _("Choose a WAV file."))
        return values

    def save(self, commit: bool = True) -> Any:
        if sound := self.cleaned_data["sound"]:
            if self.instance.file:
                FileRemoval.add([self.instance.file.name])
            sounds.store(self.instance.file, sound)
            self.instance.seconds = (len(sound) - HEADER_BYTES) / BYTES / RATE
        return super().save(commit)


class PromptInline(Inline):
    tab = True
    model = Prompt
    form = PromptForm
    fields = ("kind", "language", "number", "sound", "listen")
    readonly_fields = ("listen",)
    verbose_name_plural = _("prompts")
    kinds: tuple[str, ...] = Prompt.OF_QUEUE

    def formfield_for_choice_field(self, db_field: Any, request: Any, **kwargs: Any) -> Any:
        if db_field.name == "kind":
            kwargs["choices"] = [("", "---------"), *((kind, Prompt.Kind(kind).label) for kind in self.kinds)]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    @display(description=_("sound"))
    def listen(self, prompt: Prompt) -> str:
        if not prompt.file:
            return "–"
        address, label = sounds.signed_path(str(prompt.file.name)), _now("Listen")
        return format_html('<a class="cc-link" href="{}">{}</a> {} s', address, label, f"{prompt.seconds:.1f}")
