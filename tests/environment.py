"""Loaded by pytest before anything of Django: tests have their own folder for databases, keys and secrets, per process."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

for _name in [name for name in os.environ if name.startswith("COUNTERSIGN_") and not name.startswith("COUNTERSIGN_TESTS_")]:
    del os.environ[_name]
os.environ["COUNTERSIGN_VAR"] = tempfile.mkdtemp(prefix="countersign-tests-")
atexit.register(shutil.rmtree, os.environ["COUNTERSIGN_VAR"], ignore_errors=True)
