"""Pictures that people upload: read for what they are, and made anew, so that nothing but a picture is kept."""

import io
from typing import IO

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from PIL import Image, ImageOps

FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
MOST_KILOBYTES = 512
# Pixels of a side: of what is uploaded, and of what is kept.
MOST_PIXELS = 4096
SIDE = 256


def as_png(file: "IO[bytes]", size: int) -> bytes:
    """The picture as a small PNG without anything else that the file held. Raises ValidationError.

    What it is called and claims to be counts for nothing. An SVG, which may hold scripts, is refused like all that is
    no picture of points.
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
    except Exception as error:  # decoders raise whatever comes to them
        raise ValidationError(_("This is no picture: PNG, JPEG, GIF and WebP are.")) from error
    picture.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    # A picture of its own, or what the file says of itself would be kept.
    clean = Image.new("RGBA", picture.size)
    clean.paste(picture)
    clean.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
