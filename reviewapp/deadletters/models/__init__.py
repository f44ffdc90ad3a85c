"""Dead letters: runs that go to a person. One module per noun; import from here."""

from reviewapp.deadletters.models.bulk import BulkItem, BulkJob, ItemStatus, JobStatus
from reviewapp.deadletters.models.decision import UNDOABLE, Correction, Decision, Delivery, DeliveryKind, Kind, Requeue
from reviewapp.deadletters.models.group import FailureGroup, GroupDay, GroupDraft, GroupVersion, counter_of
from reviewapp.deadletters.models.letter import WAITING, DeadLetter, DeadLetterStatus, Draft, Resolution, Skip
from reviewapp.deadletters.models.queue import BatchEffort, QueuePolicy, SavedView, SearchEntry, Skill

__all__ = [
    "UNDOABLE",
    "WAITING",
    "BatchEffort",
    "BulkItem",
    "BulkJob",
    "Correction",
    "DeadLetter",
    "DeadLetterStatus",
    "Decision",
    "Delivery",
    "DeliveryKind",
    "Draft",
    "FailureGroup",
    "GroupDay",
    "GroupDraft",
    "GroupVersion",
    "ItemStatus",
    "JobStatus",
    "Kind",
    "QueuePolicy",
    "Requeue",
    "Resolution",
    "SavedView",
    "SearchEntry",
    "Skill",
    "Skip",
    "counter_of",
]
