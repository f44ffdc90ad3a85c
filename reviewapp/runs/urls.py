from django.urls import path

from reviewapp.runs import views

urlpatterns = [
    path("<int:pk>", views.run, name="run"),
]
