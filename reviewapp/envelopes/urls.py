from django.urls import path

from reviewapp.envelopes.views import deciding, drafting, reading, trying

VERSION = "<slug:slug>/v<int:number>"

urlpatterns = [
    path("", reading.envelopes, name="envelopes"),
    path("new", drafting.envelope_new, name="envelope-new"),
    path("notices/<int:pk>/seen", deciding.notice_seen, name="notice-seen"),
    path("<slug:slug>", reading.envelope, name="envelope"),
    path("<slug:slug>/drafts", drafting.draft_new, name="draft-new"),
    path("<slug:slug>/rules", deciding.envelope_rules, name="envelope-rules"),
    path("<slug:slug>/v<int:before>...v<int:after>", reading.version_diff, name="version-diff"),
    path(VERSION, reading.version, name="version"),
    path(f"{VERSION}/edit", drafting.version_edit, name="version-edit"),
    path(f"{VERSION}/complete", drafting.version_complete, name="version-complete"),
    path(f"{VERSION}/set-aside/<int:pk>", drafting.set_aside, name="set-aside"),
    path(f"{VERSION}/submit", drafting.version_submit, name="version-submit"),
    path(f"{VERSION}/discard", drafting.version_discard, name="version-discard"),
    path(f"{VERSION}/beat", drafting.version_beat, name="version-beat"),
    path(f"{VERSION}/approve", deciding.version_approve, name="version-approve"),
    path(f"{VERSION}/passkey", deciding.version_passkey, name="version-passkey"),
    path(f"{VERSION}/reject", deciding.version_reject, name="version-reject"),
    path(f"{VERSION}/send-back", deciding.version_send_back, name="version-send-back"),
    path(f"{VERSION}/withdraw", deciding.version_withdraw, name="version-withdraw"),
    path(f"{VERSION}/retire", deciding.version_retire, name="version-retire"),
    path(f"{VERSION}/comments", deciding.version_comment, name="version-comment"),
    path(f"{VERSION}/comments/<int:pk>/resolve", deciding.comment_resolve, name="comment-resolve"),
    path(f"{VERSION}/preview", reading.version_preview, name="version-preview"),
    path(f"{VERSION}/try", trying.version_try, name="version-try"),
    path(f"{VERSION}/shadow/<int:pk>", trying.shadow_view, name="shadow"),
    path(f"{VERSION}/shadow/<int:pk>/stop", trying.shadow_stop, name="shadow-stop"),
    path(f"{VERSION}/shadow/<int:pk>/<int:result>", trying.shadow_result, name="shadow-result"),
    path(f"{VERSION}/<str:form>", reading.version_download, name="version-download"),
]
