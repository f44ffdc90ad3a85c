from django.urls import path

from reviewapp.audit import views

urlpatterns = [
    path("", views.audit, name="audit"),
]
