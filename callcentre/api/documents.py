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

from callcentre.api.authentication import ApiUserAuthentication, BackOfficeAuthentication
from callcentre.api.permissions import IsAuthenticated


@lru_cache(maxsize=2)
def rendered_document(*, is_json: bool) -> bytes:
    """The document, the same for everybody and always in English; made once in each process."""
    with translation.override("en"):
        generator: Any = SchemaGenerator
        document = generator().get_schema(request=None, public=True)
    renderer: Any = OpenApiJsonRenderer() if is_json else OpenApiYamlRenderer()
    return bytes(renderer.render(document, renderer_context={}))


class _Document(APIView):
    """For API users, and for back-office users who have logged in to the admin."""

    authentication_classes = (ApiUserAuthentication, BackOfficeAuthentication)
    permission_classes = (IsAuthenticated,)
    schema = None
    area = ""


class SchemaView(_Document):
    def get(self, request: Request) -> HttpResponse:
        is_json = request.query_params.get("format") == "json"
        kind = "json" if is_json else "yaml"
        return HttpResponse(
            rendered_document(is_json=is_json),
            content_type="application/json; charset=utf-8" if is_json else "application/yaml; charset=utf-8",
            headers={"Content-Disposition": f'inline; filename="callcentre-openapi.{kind}"'},
        )


class DocsView(_Document):
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """A browser without a credential goes to the log-in of the admin instead of asking for one itself."""
        is_anonymous = "HTTP_AUTHORIZATION" not in request.META and not request.user.is_authenticated
        if is_anonymous and request.method == "GET" and "text/html" in request.headers.get("Accept", ""):
            return redirect(f"/admin/login/?next={request.path}")
        return super().dispatch(request, *args, **kwargs)

    @method_decorator(csp_replace({"script-src": [SELF]}))
    def get(self, request: Request) -> HttpResponse:
        title = settings.SPECTACULAR_SETTINGS["TITLE"]
        return render(request._request, "callcentre/api_docs.html", {"title": title})
