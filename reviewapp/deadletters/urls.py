from django.urls import path

from reviewapp.deadletters import views

urlpatterns = [
    path("", views.deadletters, name="deadletters"),
]
