from django.urls import path

from reviewapp.envelopes import views

urlpatterns = [
    path("", views.envelopes, name="envelopes"),
    path("<slug:slug>", views.envelope, name="envelope"),
    path("<slug:slug>/v<int:number>", views.version, name="version"),
    path("<slug:slug>/v<int:number>/<str:form>", views.version_download, name="version-download"),
]
