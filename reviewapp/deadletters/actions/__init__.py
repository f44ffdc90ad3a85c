"""Everything that writes dead letters and what belongs to them, by subject. The store of runs needs only this one."""

from reviewapp.deadletters.actions.opening import open_dead_letter

__all__ = ["open_dead_letter"]
