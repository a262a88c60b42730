"""DRIVERS.md, the page from which a stranger writes a driver: what it shows runs, and what it lists is what there is."""

import inspect
import re
import sys
from pathlib import Path

import pytest
from conforming import conform
from exchanges import replayed

from fivepoint import conformance
from fivepoint.conformance.cases import one_source
from fivepoint.conformance.corpora import Identity
from fivepoint.conformance.doors import InProcess, Processes, host_command
from fivepoint.conformance.doors.host import find
from fivepoint.conformance.driver import MUSTS, PROMISES, Driver
from fivepoint.conformance.traces import record as recorder
from fivepoint.conformance.verdict import WORST_FIRST

PAGE = (Path(conformance.__file__).parent / "DRIVERS.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
(EXCHANGE,) = re.findall(r"^```\n(> .+?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def mine(tmp_path, monkeypatch) -> Path:
    """The example of the page, in a file of the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "mine.py").write_text(PYTHON[0], encoding="utf-8")
    return tmp_path


def test_the_musts_stand_there_word_for_word():
    assert re.findall(r"^- \*\*(V\d)\*\* (.+)$", PAGE, re.MULTILINE) == list(MUSTS.items())


def test_the_promises_are_those_that_there_are():
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == PROMISES


def test_every_method_stands_there_with_its_arguments():
    methods = {name: method for name, method in vars(Driver).items() if inspect.isfunction(method)}
    listed = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", PAGE.partition("## Promises")[0], re.MULTILINE))
    assert listed.keys() == methods.keys()
    for name, method in methods.items():
        taken = [str(parameter).partition(":")[0] for parameter in inspect.signature(method).parameters.values()][1:]
        given = [argument.partition("=")[0] for argument in listed[name].split(", ") if argument]
        assert given == taken, name


def test_the_functions_that_record_stand_there_with_their_arguments():
    listed = dict(re.findall(r"^\| `(start|record|finish)\((.*?)\)` \|", PAGE, re.MULTILINE))
    for name, arguments in listed.items():
        parameters = inspect.signature(getattr(recorder, name)).parameters.values()
        taken = [str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in parameters]
        assert arguments.replace("*, ", "").replace('"', "'").split(", ") == taken, name
    assert sorted(listed) == ["finish", "record", "start"]


def test_every_verdict_is_explained():
    rows = re.findall(r"^\| (\w[\w ]*) \|", PAGE.partition("## Verdicts")[2], re.MULTILINE)
    assert sorted(rows) == sorted(["verdict", *WORST_FIRST])


def test_the_time_limits_are_those_of_the_doors(mine):
    process, python = (int(seconds) for seconds in re.search(r"has (\d+) seconds \((\d+) for drivers in Python", PAGE).groups())
    assert (Processes([]).limit, InProcess("reference").limit) == (process, python)


@pytest.mark.slow
def test_the_example_is_complete_and_holds(mine):
    done = conform("mine:Mine")
    assert done.code == 0, done.out
    holds = next(line for line in done.out.splitlines() if line.startswith("holds:")).split()
    assert {"D0.1", "C1.3", "C2.2", "C3.2", "C4.1", "C4.3", "C4.6"} <= set(holds), done.out


def test_the_exchange_is_what_a_process_says(mine):
    case = one_source(4)
    Identity(case.corpora).write(mine / "corpus")
    (mine / "workdir").mkdir()
    find("mine:Mine")
    lines = EXCHANGE.splitlines()
    assert replayed(lines, host_command("mine:Mine"), mine / "corpus", mine / "workdir") == lines


def test_a_training_loop_can_be_recorded_as_it_says(mine):
    assert conform("--record", mine).code == 0
    scope = {"inputs": [[0] * 16] * 4, "targets": [[0] * 16] * 4}
    exec(PYTHON[1], scope)
    assert (mine / "rank0.trace").stat().st_size > 500
