"""docs/statistics.md quotes what the code prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from controller.quality_study import TABLES, Table, study

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "statistics.md").read_text()
QUOTED = dict(re.findall(r"<!-- table: (\w+) -->\n(.*?)\n<!-- end -->", PAGE, flags=re.DOTALL))
QUICK = ("shown", "sample_sizes", "rules", "probation", "silent_pauses", "lights")


def test_every_table_is_quoted() -> None:
    assert set(QUOTED) == set(TABLES)


@pytest.mark.parametrize("name", QUICK)
def test_quoted_figures_are_current(name: str) -> None:
    table = TABLES[name](1)
    assert QUOTED[name] == f"{table.title}:\n\n{table.markdown()}"


@pytest.mark.parametrize("name", ["pauses", "delays"])
def test_quoted_exact_figures_are_current(name: str) -> None:
    """The simulated column depends on the number of runs and takes long; its neighbour does not."""
    quoted = [[cell.strip() for cell in line.strip("|").split("|")] for line in QUOTED[name].splitlines()[4:]]
    assert [row[:3] for row in quoted] == [list(row[:3]) for row in TABLES[name](1).rows]


def test_same_runs_print_the_same_table() -> None:
    one, other = study(["delays"], 4)["delays"], study(["delays"], 4)["delays"]
    assert isinstance(one, Table)
    assert one == other


def test_command_prints_a_named_table() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "quality_tables.py"), "rules"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert TABLES["rules"](1).markdown() in printed
    assert subprocess.run([*command, "nonsense"], capture_output=True, check=False).returncode == 2


def test_importing_stays_cheap() -> None:
    """scipy is imported where it is used: a worker that never computes an interval never loads it."""
    modules = "agreement alternatives breaker breaker_planner comparison draw intervals quality_study rates sample_size sequential simulate stratified"
    lines = [f"import controller.{name}" for name in modules.split()]
    code = "\n".join([*lines, "import sys", "print([m for m in ('scipy', 'numpy') if m in sys.modules])"])
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert printed.strip() == "[]"
