"""Connections named by an address."""

from django.shortcuts import get_object_or_404

from telephony.models import Connection


def connection_or_404(connection_id: str) -> Connection:
    return get_object_or_404(Connection.objects.with_uid(connection_id))
