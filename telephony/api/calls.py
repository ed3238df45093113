from rest_framework.request import Request
from rest_framework.response import Response

from callcentre.api.fields import IdField, TextField
from callcentre.api.serializers import Input
from callcentre.api.viewsets import ApiViewSet
from telephony.api.lookup import connection_or_404
from telephony.calls import commands
from telephony.models import CallCommand
from telephony.verbs import connections


class CallInput(Input):
    sip = TextField(max_length=100)
    phone_number = TextField(max_length=100)


class TransferInput(Input):
    queue_id = IdField(required=False)
    number = TextField(required=False, max_length=100)
    transfer_shortcut_id = IdField(required=False)


class CallViewSet(ApiViewSet):
    """Placing calls, and commands to open calls."""

    area = "connections"
    is_there: bool | None = None

    def _look_for_the_switch(self, request: Request, connection_id: str) -> None:
        self.is_there = commands.is_switch_there()

    prepare_hang_up = prepare_hold = prepare_resume = prepare_transfer = _look_for_the_switch

    def call(self, request: Request) -> Response:
        values, faults = self.read(CallInput)
        connections.call(self.actor, faults, **values)
        return Response(status=204)

    def hang_up(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.HANG_UP)

    def hold(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.HOLD)

    def resume(self, request: Request, connection_id: str) -> Response:
        return self._ask(connection_id, CallCommand.Kind.RESUME)

    def transfer(self, request: Request, connection_id: str) -> Response:
        connection = connection_or_404(connection_id)
        values, faults = self.read(TransferInput)
        commands.ask_transfer(self.actor, connection, faults, is_there=self.is_there, **values)
        return Response(status=204)

    def _ask(self, connection_id: str, kind: CallCommand.Kind) -> Response:
        commands.ask(self.actor, connection_or_404(connection_id), kind, is_there=self.is_there)
        return Response(status=204)
