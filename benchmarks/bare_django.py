"""A bare Django view, the bound of a ping: no middleware, no log-in, no database, an empty answer.

The harness runs it with granian in two workers, as it runs the service. Here Django answers by WSGI, which is the
shortest way through granian.
"""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

settings.configure(ALLOWED_HOSTS=["127.0.0.1"], ROOT_URLCONF=__name__, MIDDLEWARE=[], LOGGING_CONFIG=None)


def answer(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=204)


urlpatterns = [path("api/ping", answer)]
application = get_wsgi_application()
