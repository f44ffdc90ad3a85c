"""The rule, in plain Python: no Django, no clock, no randomness; the only I/O is in ``controller.backends``."""
