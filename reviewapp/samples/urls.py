from django.urls import path

from reviewapp.samples import views

urlpatterns = [
    path("", views.samples, name="samples"),
    path("next", views.sample_next, name="sample-next"),
    path("undo", views.sample_undo, name="sample-undo"),
    path("<slug:token>", views.sample, name="sample"),
    path("<slug:token>/save", views.sample_save, name="sample-save"),
    path("<slug:token>/submit", views.sample_submit, name="sample-submit"),
    path("<slug:token>/skip", views.sample_skip, name="sample-skip"),
]
