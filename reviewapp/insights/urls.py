from django.urls import path

from reviewapp.insights import views

urlpatterns = [
    path("", views.quality, name="quality"),
    path("corrections", views.corrections, name="corrections"),
    path("corrections/<int:pk>/ask", views.correction_ask, name="correction-ask"),
    path("corrections/<int:pk>/decide", views.correction_decide, name="correction-decide"),
    path("of/<slug:slug>", views.quality_envelope, name="quality-envelope"),
    path("of/<slug:slug>/rows", views.quality_rows, name="quality-rows"),
    path("of/<slug:slug>/planner", views.quality_planner, name="quality-planner"),
]
