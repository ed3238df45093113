"""Uploaded pictures, drawn anew as PNG, so that nothing else of the file is stored."""

import io
from typing import IO

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps

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
