from django.contrib import admin
from django.urls import include, path

from reviewapp.inbox.views import inbox

urlpatterns = [
    path("", inbox, name="inbox"),
    path("batches/", include("reviewapp.batches.urls")),
    path("runs/", include("reviewapp.runs.urls")),
    path("dead-letters/", include("reviewapp.deadletters.urls")),
    path("samples/", include("reviewapp.samples.urls")),
    path("quality/", include("reviewapp.insights.urls")),
    path("envelopes/", include("reviewapp.envelopes.urls")),
    path("audit/", include("reviewapp.audit.urls")),
    path("account/", include("allauth.urls")),
    path("admin/", admin.site.urls),
]
