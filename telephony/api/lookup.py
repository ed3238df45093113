"""Connections named by an address."""

from callcentre.core.errors import ErrorCode
from callcentre.core.lookups import found_or_404
from telephony.models import Connection


def connection_or_404(connection_id: str) -> Connection:
    return found_or_404(Connection.objects.with_uid(connection_id).first(), ErrorCode.CONNECTION_NOT_FOUND)
