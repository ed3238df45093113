"""All routes: the API's paths as in the interface, its documents, the admin, health and metrics."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.generic import RedirectView
from django.views.i18n import set_language

from callcentre.admin.autocomplete import Autocomplete
from callcentre.api.documents import DocsView, SchemaView
from callcentre.api.routers import route
from callcentre.api.viewsets import PingViewSet, UnknownPath
from callcentre.monitoring import health
from callcentre.overview.admin.pages import overview_now, wallboard
from callcentre.web import password_reset, provider, second_factor
from callcentre.web.desk import home
from callcentre.web.desk import views as desk
from callcentre.web.first_steps import first_steps_view
from callcentre.web.login import OwnPasswordView, login
from callcentre.web.search import search_view
from knowledgebase.images import show_image
from telephony.sounds import show_sound
from tickets.rating_page import rate_reply

api: list[URLPattern | URLResolver] = [
    route("ping", PingViewSet, get="ping"),
    re_path(r"^schema/?\Z", SchemaView.as_view(), name="schema"),
    re_path(r"^docs/?\Z", DocsView.as_view(), name="docs"),
    re_path(r"^", include("webhooks.api.urls")),
    re_path(r"^", include("telephony.api.urls")),
    re_path(r"^", include("tickets.api.urls")),
    re_path(r"^", include("knowledgebase.api.urls")),
    re_path(r"^", include("campaigns.api.urls")),
    re_path(r"^", include("reports.api.urls")),
    re_path(r"^.*\Z", UnknownPath.as_view(), name="unknown"),
]

urlpatterns = [
    re_path(r"^api/", include(api)),
    re_path(r"^api\Z", UnknownPath.as_view(), name="api"),
    path("admin/login/", login),
    path("admin/login/code", second_factor.code_page, name="log-in-code"),
    path("admin/login/set-up", second_factor.set_up_at_log_in, name="log-in-set-up"),
    path("admin/login/reset", password_reset.ask, name="password-reset"),
    path("admin/login/reset/sent", password_reset.asked, name="password-reset-done"),
    path("admin/login/reset/done", password_reset.Chosen.as_view(), name="password-reset-complete"),
    path("admin/login/reset/<uidb64>/<token>", password_reset.ChoosePassword.as_view(), name="password-reset-confirm"),
    path("admin/login/provider", provider.begin, name="provider-log-in"),
    path("admin/login/provider/back", provider.come_back, name="provider-back"),
    path("admin/login/provider/log-out", provider.end, name="provider-log-out"),
    path("admin/logout/", provider.log_out),
    path("admin/two-factor/", admin.site.admin_view(second_factor.overview), name="second-factor"),
    path("admin/two-factor/set-up", admin.site.admin_view(second_factor.set_up), name="second-factor-set-up"),
    path("admin/two-factor/codes", admin.site.admin_view(second_factor.new_codes), name="second-factor-codes"),
    path("admin/two-factor/off", admin.site.admin_view(second_factor.switch_off), name="second-factor-off"),
    path("admin/sessions/", admin.site.admin_view(second_factor.own_sessions), name="own-sessions"),
    path("admin/password_change/", admin.site.admin_view(OwnPasswordView.as_view())),
    path("admin/language", set_language, name="language"),
    path("admin/autocomplete/", admin.site.admin_view(Autocomplete.as_view(admin_site=admin.site))),
    # In the place of the theme's own search, which reads one model after another.
    path("admin/search/", admin.site.admin_view(search_view)),
    path("admin/overview/now", admin.site.admin_view(overview_now), name="overview"),
    path("admin/wallboard/", admin.site.admin_view(wallboard), name="wallboard"),
    *desk.urls(),
    path("admin/", admin.site.admin_view(home.index)),
    path("admin/first-steps/", admin.site.admin_view(first_steps_view), name="first-steps"),
    path("admin/", admin.site.urls),
    path("knowledge-base/images/<uuid:image_id>", show_image, name="article-image"),
    path("sounds/<str:token>.wav", show_sound, name="sound"),
    path("ratings/<str:token>", rate_reply, name="rating"),
    path("health/live", health.live, name="live"),
    path("health/ready", health.ready, name="ready"),
    path("health/mail", health.probe, {"name": "mail"}, name="mail"),
    path("health/processes", health.probe, {"name": "processes"}, name="processes"),
    path("health/dialling", health.probe, {"name": "dialling"}, name="dialling"),
    path("health/replica", health.probe, {"name": "replica"}, name="replica"),
    path("health/space", health.probe, {"name": "space"}, name="space"),
    path("metrics", health.metrics, name="metrics"),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("", RedirectView.as_view(pattern_name="admin:index"), name="root"),
]

handler400 = "callcentre.web.error_pages.misread"
handler403 = "callcentre.web.error_pages.refuse"
handler404 = "callcentre.web.error_pages.miss"
handler500 = "callcentre.web.error_pages.fail"
