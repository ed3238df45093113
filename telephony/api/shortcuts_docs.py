"""Documents of the API: transfer shortcuts."""

from callcentre.api.openapi import Operation, array, document, integer, shape, text
from telephony.api.shortcuts import ShortcutViewSet

SHORTCUT = shape(
    "TransferShortcut",
    "A frequent target of transfers: a queue or a number.",
    transfer_shortcut_id=integer("The shortcut's id.", 1),
    queue=text("Name of the queue; an empty string where the shortcut leads to a number.", "Hotline"),
    number=text("The number; an empty string where the shortcut leads to a queue."),
    icon=text("A PNG in Base64, at most 256 × 256; an empty string where there is none.", "iVBORw0KGgo="),
    name=text("The shortcut's name.", "Back to the hotline"),
)

document(
    ShortcutViewSet,
    list=Operation(
        id="list_transfer_shortcuts",
        summary="List the transfer shortcuts",
        description="All of them, in the order of the back office.",
        answer=array(SHORTCUT),
    ),
)
