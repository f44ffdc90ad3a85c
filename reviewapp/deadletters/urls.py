from django.urls import path, re_path

from reviewapp.deadletters.views import bulk, groups, queue, settings, workspace

urlpatterns = [
    path("", queue.deadletters, name="deadletters"),
    path("next/", queue.next_letter, name="deadletter-next"),
    path("export/", queue.export_letters, name="deadletters-export"),
    path("views/", queue.view_save, name="saved-view-save"),
    path("views/<int:pk>/delete/", queue.view_delete, name="saved-view-delete"),
    path("decisions/<int:pk>/undo/", queue.undo, name="decision-undo"),
    path("effort/", queue.effort, name="queue-effort"),
    path("effort/batches/<int:pk>/cap/", settings.cap, name="batch-cap"),
    path("policy/<slug:slug>/", settings.policy, name="queue-policy"),
    path("groups/", groups.groups, name="failure-groups"),
    path("groups/<int:pk>/", groups.group, name="failure-group"),
    re_path(
        r"^groups/(?P<pk>\d{1,18})/(?P<what>assign|snooze|note|skill|merge|split|draft)/$",
        groups.group_change,
        name="failure-group-change",
    ),
    path("bulk/", bulk.bulk_jobs, name="bulk-jobs"),
    path("bulk/new/", bulk.bulk_new, name="bulk-new"),
    path("bulk/start/", bulk.bulk_start, name="bulk-start"),
    path("bulk/<int:pk>/", bulk.bulk_job, name="bulk-job"),
    re_path(r"^bulk/(?P<pk>\d{1,18})/(?P<step>pause|resume|cancel|undo)/$", bulk.bulk_steer, name="bulk-steer"),
    path("records/<int:pk>/", workspace.result, name="record-result"),
    path("people/<int:pk>/release/", workspace.release_person, name="leases-release"),
    path("<int:pk>/", workspace.deadletter, name="deadletter"),
    path("<int:pk>/claim/", workspace.claim, name="deadletter-claim"),
    path("<int:pk>/release/", workspace.release, name="deadletter-release"),
    path("<int:pk>/heartbeat/", workspace.heartbeat, name="deadletter-heartbeat"),
    path("<int:pk>/check/", workspace.check, name="deadletter-check"),
    path("<int:pk>/draft/drop/", workspace.draft_drop, name="deadletter-draft-drop"),
    path("<int:pk>/reopen/", workspace.reopen, name="deadletter-reopen"),
    path("<int:pk>/return/", workspace.put_back, name="deadletter-return"),
    re_path(
        r"^(?P<pk>\d{1,18})/(?P<kind>correct|requeue|reject|ask|defer|skip|escalate|hand-over)/$",
        workspace.decide,
        name="deadletter-decide",
    ),
]
