"""What a path names, or 404."""

from django.http import Http404

from telephony.models import Connection


def connection_or_404(connection_id: str) -> Connection:
    connection = Connection.objects.with_uid(connection_id).first()
    if connection is None:
        raise Http404
    return connection
