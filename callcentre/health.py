"""Probes for operators."""

from django.http import HttpRequest, HttpResponse, JsonResponse


def live(request: HttpRequest) -> HttpResponse:
    """This process answers."""
    return JsonResponse({"status": "ok"})


def ready(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


def metrics(request: HttpRequest) -> HttpResponse:
    return HttpResponse("", content_type="text/plain")
