"""What the command and the pytest plugin have in common, and what loads nothing else."""

from pathlib import Path

CASES = Path("fivepoint-cases")
"""Where the cases that fail are written: below it, a folder for each loader and seed."""
