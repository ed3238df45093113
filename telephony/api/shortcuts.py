from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.viewsets import ApiViewSet
from telephony.models import TransferShortcut


class ShortcutViewSet(ApiViewSet):
    """Frequent targets of transfers."""

    area = "system"

    def list(self, request: Request) -> Response:
        return Response(
            [
                {
                    "transfer_shortcut_id": shortcut.pk,
                    "queue": shortcut.queue.name if shortcut.queue else "",
                    "number": shortcut.number,
                    "icon": shortcut.icon_base64,
                    "name": shortcut.name,
                }
                for shortcut in TransferShortcut.objects.select_related("queue")
            ]
        )
