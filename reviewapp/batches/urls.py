from django.urls import path

from reviewapp.batches import breaker_views, views

urlpatterns = [
    path("", views.batches, name="batches"),
    path("new", views.batch_new, name="batch-new"),
    path("<int:pk>", views.batch, name="batch"),
    path("<int:pk>/pause", views.batch_pause, name="batch-pause"),
    path("<int:pk>/resume", views.batch_resume, name="batch-resume"),
    path("<int:pk>/breaker", breaker_views.batch_breaker, name="batch-breaker"),
    path("<int:pk>/close", breaker_views.batch_close, name="batch-close"),
    path("<int:pk>/rate", breaker_views.batch_rate, name="batch-rate"),
]
