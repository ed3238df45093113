"""The documents of the API: OpenAPI at /api/schema, Swagger UI at /api/docs."""

from functools import lru_cache
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.decorators import method_decorator
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from callcentre.api.authentication import ApiUserAuthentication, BackOfficeAuthentication, has_credential
from callcentre.api.permissions import IsAuthenticated

# The media types of the document, and whether each is JSON. The first is the default.
MEDIA_TYPES = {
    "application/yaml": False,
    "application/vnd.oai.openapi": False,
    "application/json": True,
    "application/vnd.oai.openapi+json": True,
}


@lru_cache(maxsize=8)
def rendered_document(server: str, *, is_json: bool) -> bytes:
    """Return the document, always in English, with this address as the server. It is kept in the process."""
    with translation.override("en"):
        generator: Any = SchemaGenerator
        document = generator().get_schema(request=None, public=True) | {"servers": [{"url": server}]}
    renderer: Any = OpenApiJsonRenderer() if is_json else OpenApiYamlRenderer()
    return bytes(renderer.render(document, renderer_context={}))


class _Document(APIView):
    """The page of the documents, for API users and for back-office users who are logged in to the admin."""

    authentication_classes = (ApiUserAuthentication, BackOfficeAuthentication)
    permission_classes = (IsAuthenticated,)
    schema = None
    area = ""


class SchemaView(_Document):
    def get(self, request: Request) -> HttpResponse:
        kind = request.query_params.get("format")
        if kind not in ("json", "yaml"):
            preferred = request._request.get_preferred_type(list(MEDIA_TYPES))
            kind = "json" if preferred and MEDIA_TYPES[preferred] else "yaml"
        is_json = kind == "json"
        return HttpResponse(
            rendered_document(f"{request.scheme}://{request.get_host()}", is_json=is_json),
            content_type="application/json; charset=utf-8" if is_json else "application/yaml; charset=utf-8",
            headers={"Content-Disposition": f'inline; filename="callcentre-openapi.{kind}"', "Vary": "Accept"},
        )


class DocsView(_Document):
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Redirect a browser without a credential to the log-in of the admin, instead of asking for a credential."""
        is_anonymous = not has_credential(request.META) and not request.user.is_authenticated
        if is_anonymous and request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
            return redirect(f"/admin/login/?next={request.path}")
        return super().dispatch(request, *args, **kwargs)

    @method_decorator(csp_replace({"script-src": [SELF]}))
    def get(self, request: Request) -> HttpResponse:
        title = settings.SPECTACULAR_SETTINGS["TITLE"]
        return render(request._request, "callcentre/api_docs.html", {"title": title})
