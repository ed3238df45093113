"""Reasons for the end of calls and legs: the names of the Q.850 causes, and our own reasons.

They are stored in English, so that programs can compare them. `shown` translates them for people.
"""

from django.utils.translation import gettext as translated
from django.utils.translation import gettext_noop as _

# The PBX could not be reached, or no listener was connected to it.
NO_CONNECTION = _("No connection to the PBX")
UNSEEN = _("The end was not seen: no connection to the PBX")
CUT_OFF = _("The end was not seen: the call may have been answered and cut off by the PBX")
# For calls that were not placed in time.
NO_LINE = _("No line was free")
NOT_TRIED = _("The call was not placed in time")
QUEUE_CLOSED = _("The queue is closed")
QUEUE_FULL = _("The queue is full")
WAITED_TOO_LONG = _("The caller waited too long")
NO_CHOICE = _("The caller made no choice in the menu")
# For a caller who need not stay on the line.
CALLED_BACK = _("The caller is called back")

NAMES = {
    0: _("No cause was given"),
    1: _("Unallocated (unassigned) number"),
    2: _("No route to transit network"),
    3: _("No route to destination"),
    16: _("Normal clearing"),
    17: _("User busy"),
    18: _("No user responding"),
    19: _("User alerting, no answer"),
    20: _("Subscriber absent"),
    21: _("Call rejected"),
    22: _("Number changed"),
    26: _("Answered elsewhere"),
    27: _("Destination out of order"),
    28: _("Invalid number format"),
    29: _("Facility rejected"),
    31: _("Normal, unspecified"),
    34: _("Circuit/channel congestion"),
    38: _("Network out of order"),
    41: _("Temporary failure"),
    42: _("Switching equipment congestion"),
    44: _("Requested channel not available"),
    50: _("Facility not subscribed"),
    57: _("Bearer capability not authorised"),
    58: _("Bearer capability not available"),
    65: _("Bearer capability not implemented"),
    69: _("Facility not implemented"),
    79: _("Service or option not implemented"),
    88: _("Incompatible destination"),
    102: _("Recover on timer expiry"),
    111: _("Protocol error"),
    127: _("Interworking, unspecified"),
}
# The length of the columns.
LONGEST = 200


def text_of(cause: int | None) -> str:
    """Return the name of a Q.850 cause; None means that no event reported the end."""
    return UNSEEN if cause is None else NAMES.get(cause, "")


def shown(text: str) -> str:
    """Translate a stored reason. A text of the PBX stays as it is."""
    return translated(text) if text else ""
