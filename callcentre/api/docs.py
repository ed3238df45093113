from callcentre.api.openapi import Operation, document
from callcentre.api.viewsets import PingViewSet

document(
    PingViewSet,
    ping=Operation(
        id="ping",
        summary="Check that the service answers",
        description="The cheapest request there is: for monitors, and to try a credential.",
        is_extension=True,
        answer_description="The service answers and the credential is right.",
    ),
)
