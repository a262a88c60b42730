"""The command `fivepoint` as a person starts it."""

import subprocess
import sys

import fivepoint


def fivepoint_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "fivepoint.cli", *arguments], capture_output=True, text=True)


def test_version_is_the_package_s():
    done = fivepoint_command("--version")
    assert (done.returncode, done.stdout) == (0, f"fivepoint {fivepoint.__version__}\n"), done.stderr


def test_an_unknown_command_is_a_usage_error():
    done = fivepoint_command("no-such-command")
    assert done.returncode == 2, done.stdout
    assert "no-such-command" in done.stderr
