"""Transfer shortcuts. Their icons are drawn anew from uploaded pictures, so that nothing else of the file is stored."""

import io
from typing import IO, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps
from unfold.widgets import UnfoldAdminImageFieldWidget, UnfoldBooleanWidget

from callcentre.admin import Admin, display
from callcentre.admin.theme import ModelForm
from telephony.models import TransferShortcut

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MOST_KILOBYTES = 512
# Pixels of a side: of the upload, and of the stored picture.
MOST_PIXELS = 4096
SIDE = 256


def as_png(file: "IO[bytes]", size: int) -> bytes:
    """Return the picture as a small PNG without the other contents of the file. Raises ValidationError.

    The file's name and declared type are ignored. An SVG, which may contain scripts, is refused.
    """
    if size > MOST_KILOBYTES * 1024:
        raise ValidationError(_("The picture is larger than %(limit)s kB."), params={"limit": MOST_KILOBYTES})
    try:
        with Image.open(file, formats=FORMATS) as image:
            if max(image.size) > MOST_PIXELS:
                raise ValidationError(
                    _("The picture has more than %(limit)s points a side."), params={"limit": MOST_PIXELS}
                )
            image.load()
            picture = ImageOps.exif_transpose(image).convert("RGBA")
    except ValidationError:
        raise
    except Exception as error:  # decoders raise any exception
        raise ValidationError(_("This is no picture: PNG, JPEG, GIF and WebP are.")) from error
    picture.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    # A new picture has none of the file's metadata.
    clean = Image.new("RGBA", picture.size)
    clean.paste(picture)
    clean.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


COLUMNS = ("name", "queue", "number", "order")


def _accepted_pictures() -> str:
    sentence = _now("PNG, JPEG, GIF or WebP of at most %(limit)s kB; it is made to fit 256 × 256 points.")
    return sentence % {"limit": MOST_KILOBYTES}


class ShortcutForm(ModelForm):
    """A form whose uploaded picture is drawn anew and stored as a PNG."""

    upload = forms.FileField(
        label=_("New icon"),
        required=False,
        widget=UnfoldAdminImageFieldWidget(attrs={"accept": "image/png,image/jpeg,image/gif,image/webp"}),
        # Lazy, to be translated for each reader.
        help_text=lazy(_accepted_pictures, str)(),
    )
    remove_icon = forms.BooleanField(label=_("Remove the icon"), required=False, widget=UnfoldBooleanWidget())

    class Meta:
        model = TransferShortcut
        fields = COLUMNS

    def clean_upload(self) -> bytes:
        upload = self.cleaned_data["upload"]
        return as_png(upload, upload.size or 0) if isinstance(upload, UploadedFile) else b""

    def columns(self) -> dict[str, Any]:
        given = self.cleaned_data
        values = {name: given[name] for name in COLUMNS if name in self.changed_data}
        if given.get("upload") or given.get("remove_icon"):
            values["icon"] = given.get("upload") or b""
        return values


@admin.register(TransferShortcut)
class TransferShortcutAdmin(Admin):
    """Frequent targets of transfers."""

    form = ShortcutForm
    list_display = ("picture", "name", "queue", "number", "order")
    list_display_links = ("picture", "name")
    list_select_related = ("queue",)
    search_fields = ("name", "number", "queue__name")
    fields = (*COLUMNS, "picture", "upload", "remove_icon")
    readonly_fields = ("picture",)

    def get_fields(self, request: HttpRequest, obj: TransferShortcut | None = None) -> tuple[str, ...]:
        has_icon = obj is not None and obj.icon
        return tuple(name for name in self.fields if has_icon or name not in ("picture", "remove_icon"))

    @display(description=_("icon"))
    def picture(self, shortcut: TransferShortcut) -> str:
        if not shortcut.icon:
            return mark_safe('<span class="cc-subtle">–</span>')
        source = f"data:image/png;base64,{shortcut.icon_base64}"
        return format_html('<img class="cc-icon" src="{}" alt="">', source)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        values = form.columns()
        for name, value in values.items():
            setattr(obj, name, value)
        if not change:
            obj.save(force_insert=True)
        elif values:
            obj.save(update_fields=[*values, "updated_at"])
