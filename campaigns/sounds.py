"""The view from which Asterisk fetches the messages of dropped calls. The address itself is signed."""

from django.core.files.storage import default_storage
from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from callcentre.core.downloads import file_response
from campaigns.dialling.drop_messages import file_of


@require_safe
def show_sound(request: HttpRequest, token: str) -> HttpResponseBase:
    name = file_of(token)
    if name is None or not default_storage.exists(name):
        raise Http404
    response = file_response(lambda: default_storage.open(name), name, "audio/wav", is_shown=True)
    # A new message has a new name, so that Asterisk may keep the file.
    response["Cache-Control"] = "private, max-age=86400"
    return response
