from django.urls import path

from reviewapp.batches import views

urlpatterns = [
    path("", views.batches, name="batches"),
    path("new", views.batch_new, name="batch-new"),
    path("<int:pk>", views.batch, name="batch"),
    path("<int:pk>/pause", views.batch_pause, name="batch-pause"),
    path("<int:pk>/resume", views.batch_resume, name="batch-resume"),
]
