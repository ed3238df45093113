from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.openapi import array, integer, operation, shape, text
from callcentre.api.viewsets import ApiViewSet
from telephony.models import TransferShortcut

SHORTCUT = shape(
    "TransferShortcut",
    "A frequent target of transfers: a queue or a number.",
    transfer_shortcut_id=integer("The shortcut's id.", 1, of="pk"),
    queue=text(
        "Name of the queue; an empty string where the shortcut leads to a number.",
        "Hotline",
        of=lambda shortcut: shortcut.queue.name if shortcut.queue else "",
    ),
    number=text("The number; an empty string where the shortcut leads to a queue."),
    icon=text(
        "A PNG in Base64, at most 256 × 256; an empty string where there is none.", "iVBORw0KGgo=", of="icon_base64"
    ),
    name=text("The shortcut's name.", "Back to the hotline"),
)


class ShortcutViewSet(ApiViewSet):
    """Frequent targets of transfers."""

    area = "system"

    @operation(
        "list_transfer_shortcuts",
        "List the transfer shortcuts",
        "All of them, in the order of the back office.",
        is_extension=False,
        answer=array(SHORTCUT),
    )
    def list(self, request: Request) -> Response:
        return Response([SHORTCUT.data(shortcut) for shortcut in TransferShortcut.objects.select_related("queue")])
