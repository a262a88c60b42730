"""C4, exact resumption on the same layout: at the first sample that was not consumed, inside and between steps, and at the ends."""

from collections.abc import Iterable
from dataclasses import replace

from ..bench import Bench
from ..case import INSIDE, SAVE, Case, Leg
from ..cases import mixture, one_source
from ..driver import Phase
from ..judging import expect_peers_agree, expect_same_sequence
from ..registry import Scale, check
from ..resuming import borders, expect_uninterrupted, stops, without_stops
from ..verdict import Broken, NotApplicable


def every_stop(case: Case, scale: Scale, stop: str = SAVE, quick: int = 4) -> Iterable[Case]:
    """Yield the case stopped after each step that ends at no border; of many, the quick mode takes some."""
    size, ends = case.legs[0].batch_size, borders(case)
    steps = [step for step in range(case.settings.length // size) if step * size not in ends]
    if not scale.full and len(steps) > quick:
        steps = sorted(scale.random.sample(steps, quick))
    for step in steps:
        yield stops(case, step, stop=stop)


def in_the_first_epoch(scale: Scale) -> Iterable[Case]:
    """One epoch: a sample a step, several, several ranks, accumulation; and a state before the first step."""
    yield stops(one_source(10, leg=Leg(1, 2)), 0)
    for n, leg in ((10, Leg(1, 2)), (12, Leg()), (18, Leg(2, 2)), (24, Leg(1, 1, 4)), (25, Leg(2, 1, 2))):
        yield from every_stop(one_source(n, leg=leg), scale, quick=3)


@check("C4.1", "in-the-first-epoch", in_the_first_epoch, needs="resume", faults=(4, 5, 7), judges_trace=True)
def in_the_first_epoch_goes_on(bench: Bench, case: Case) -> None:
    """Stopped after a step and resumed, against the run without a stop."""
    expect_uninterrupted(bench, case)


def in_later_epochs(scale: Scale) -> Iterable[Case]:
    """Three epochs of 10 samples, two a step; also two ranks of two, whose step lies across the end of the epoch."""
    yield from every_stop(one_source(10, samples=30, leg=Leg(1, 2)), scale, quick=6)
    yield stops(one_source(10, samples=30, leg=Leg(2, 2)), 1)
    yield from every_stop(one_source(7, samples=40, leg=Leg(1, 1, 3)), scale)
    if scale.full:
        # Micro-batches of one sample, four a step: step 500 is the end of epoch 20.
        yield stops(one_source(100, samples=2400, leg=Leg(1, 1, 4)), 510)


@check("C4.1", "in-later-epochs", in_later_epochs, needs="resume epochs", faults=(1, 2))
def in_later_epochs_goes_on(bench: Bench, case: Case) -> None:
    """Stopped in the first, second and third epoch, with whole epochs to come."""
    expect_uninterrupted(bench, case)


def in_a_mixture(scale: Scale) -> Iterable[Case]:
    """Several sources, of which the small ones go through several epochs."""
    yield from every_stop(mixture({"a": 40, "b": 20}, {"a": "0.7", "b": "0.3"}, 40, leg=Leg(1, 2)), scale)
    yield from every_stop(mixture({"a": 9, "b": 5, "c": 3}, {"a": "0.5", "b": "0.3", "c": "0.2"}, 40, leg=Leg(2, 2)), scale)


@check("C4.1", "in-a-mixture", in_a_mixture, needs="resume epochs mixture")
def in_a_mixture_goes_on(bench: Bench, case: Case) -> None:
    """Every source goes on where it was."""
    expect_uninterrupted(bench, case)


def across_phases(scale: Scale) -> Iterable[Case]:
    """A mixture that changes twice, stopped in each of its phases."""
    case = mixture({"a": 30, "b": 20}, {"a": "0.8", "b": "0.2"}, 12, leg=Leg(1, 2))
    phases = [*case.settings.phases, Phase(14, {"a": "1", "b": "3"}), Phase(10, {"b": "1"})]
    yield from every_stop(case.with_settings(phases=phases), scale, quick=6)


@check("C4.1", "across-phases", across_phases, needs="resume epochs mixture phases", faults=(14,))
def across_phases_goes_on(bench: Bench, case: Case) -> None:
    """The mixture changes where it does without a stop, and the sources go on where they were."""
    expect_uninterrupted(bench, case)


def around_skips(scale: Scale) -> Iterable[Case]:
    """Three steps of two are passed over after the first one or two; stopped before, at and after."""
    for at in (2, 4):
        case = one_source(40, samples=26, leg=Leg(1, 2)).with_settings(skips=[(at, 6)])
        for steps in (1, 2, 3, 5) if scale.full or at == 2 else (3,):
            yield stops(case, steps)
    case = mixture({"a": 30, "b": 30}, {"a": "1", "b": "1"}, 20, leg=Leg(1, 2)).with_settings(skips=[(4, 3), (10, 2)])
    yield from every_stop(case, scale)


@check("C4.1", "around-skips", around_skips, needs="resume epochs skips", faults=(15,))
def around_skips_goes_on(bench: Bench, case: Case) -> None:
    """A skip is applied once, before or after the stop."""
    expect_uninterrupted(bench, case)


def with_peers(scale: Scale) -> Iterable[Case]:
    """Tensor, pipeline and context parallel peers, which train on the same samples."""
    for leg in (Leg(1, 2, tp=2), Leg(2, 1, pp=2), Leg(1, 1, 2, cp=2), *((Leg(2, tp=2, pp=2, cp=2),) if scale.full else ())):
        yield stops(one_source(20, leg=leg), 2)


@check("C4.1", "with-peers", with_peers, needs="resume peers", faults=(11,))
def with_peers_goes_on(bench: Bench, case: Case) -> None:
    """A sample counts once, however many processes train on it, and all of them go on at the same."""
    expect_peers_agree(expect_uninterrupted(bench, case))


def with_workers(scale: Scale) -> Iterable[Case]:
    """Two workers or more, which read ahead, on one rank and on two."""
    for leg in (Leg(1, 2, workers=2), Leg(2, 1, workers=3)):
        yield from every_stop(one_source(24, leg=leg), scale, quick=2)


@check("C4.1", "with-workers", with_workers, needs="resume workers", faults=(4,))
def with_workers_goes_on(bench: Bench, case: Case) -> None:
    """What workers have read ahead does not count."""
    expect_uninterrupted(bench, case)


def elsewhere(scale: Scale) -> Iterable[Case]:
    """Processes with other hash seeds, locales and folders for temporary files than those that saved."""
    first = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"}
    for other in ({"PYTHONHASHSEED": "77", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Kolkata", "TMPDIR": "/var/tmp"},):
        for n in (12, 40) if scale.full else (12,):
            case = one_source(n, leg=Leg(1, 2, environment=other))
            yield case.with_legs(Leg(1, 2, steps=n // 4, environment=first), *case.legs)


@check("C4.1", "elsewhere", elsewhere, needs="resume", faults=(18,))
def elsewhere_goes_on(bench: Bench, case: Case) -> None:
    """A state means the same in every environment."""
    expect_uninterrupted(bench, case)


def inside(scale: Scale) -> Iterable[Case]:
    """A step is asked for and not committed, on one rank and two, with and without accumulation."""
    for n, leg in ((10, Leg(1, 2)), (18, Leg(2, 2)), (24, Leg(1, 1, 4)), (24, Leg(1, 2, workers=2))):
        yield from every_stop(one_source(n, leg=leg), scale, INSIDE, quick=2)


@check("C4.2", "inside-a-step", inside, needs="resume", faults=(4, 5, 6))
def inside_a_step(bench: Bench, case: Case) -> None:
    """The step that was served and not committed is served again."""
    expect_uninterrupted(bench, case)


def undisturbed(scale: Scale) -> Iterable[Case]:
    """A short run whose state is saved all the time."""
    for leg in (Leg(1, 2), Leg(2, 1, 2), Leg(1, 2, workers=2)):
        yield one_source(14, leg=leg)


@check("C4.2", "saving-changes-nothing", undisturbed, needs="resume", faults=(4,))
def saving_changes_nothing(bench: Bench, case: Case) -> None:
    """The state is saved before and after every commit, and the run goes on as if it were not."""
    with bench.open(case) as play:
        play.open(case.legs[0])
        leg = play.trace.legs[0]
        while len(leg.steps) < case.settings.length and (step := play.begin()) is not None:
            play.save_inside()
            play.ask({"do": "commit"})
            leg.steps.append(step)
            play.consumed += play.leg.batch_size
            play.save()
        play.close()
    expect_same_sequence(bench.play(without_stops(case)), play.trace)


def at_epochs(scale: Scale) -> Iterable[Case]:
    """Stopped at the end of each epoch, and one step to either side; with and without a step that lies across it."""
    for n, leg in ((10, Leg(1, 2)), (8, Leg(2, 1, 2)), (9, Leg(1, 2))):
        case = one_source(n, samples=3 * n, leg=leg)
        for end in (n, 2 * n) if scale.full else (scale.random.choice((n, 2 * n)),):
            for steps in sorted({-(-end // leg.batch_size) + near for near in (-1, 0, 1)}):
                yield stops(case, steps)


@check("C4.5", "at-the-end-of-an-epoch", at_epochs, needs="resume epochs", faults=(8,))
def at_the_end_of_an_epoch(bench: Bench, case: Case) -> None:
    """The next epoch begins where the one before ended."""
    expect_uninterrupted(bench, case)


def at_phases(scale: Scale) -> Iterable[Case]:
    """Stopped exactly where the mixture changes, and one step to either side."""
    for leg in (Leg(1, 2), Leg(2, 2)):
        case = mixture({"a": 30, "b": 20}, {"a": "0.8", "b": "0.2"}, 12, leg=leg)
        case = case.with_settings(phases=[*case.settings.phases, Phase(12, {"a": "1", "b": "3"})])
        for near in (-1, 0, 1):
            yield stops(case, 12 // leg.batch_size + near)


@check("C4.5", "at-the-end-of-a-phase", at_phases, needs="resume epochs mixture phases", faults=(8, 14))
def at_the_end_of_a_phase(bench: Bench, case: Case) -> None:
    """The next phase begins where the one before ended."""
    expect_uninterrupted(bench, case)


def at_the_end(scale: Scale) -> Iterable[Case]:
    """The whole run, resumed when nothing is left, or less than a step; and one step before."""
    for n, leg in ((8, Leg(1, 2)), (9, Leg(2, 2)), (12, Leg(2, 1, 3)), (7, Leg(1, 3, workers=1))):
        case = one_source(n, leg=leg)
        yield stops(case, n // leg.batch_size)
        yield stops(case, n // leg.batch_size - 1)


@check("C4.5", "at-the-end-of-the-run", at_the_end, needs="resume whole_steps", faults=(8,))
def at_the_end_of_the_run(bench: Bench, case: Case) -> None:
    """No step is served after the last one, and every rank says that the run is over."""
    last = case.legs[-1]
    if len(case.legs) < 2 or last.steps is not None:
        raise NotApplicable("expected a run that is stopped and resumed to its end")
    trace = bench.play(replace(case, legs=(*case.legs[:-1], replace(last, steps=3 + case.settings.length // last.batch_size))))
    left = (case.settings.length - trace.legs[-1].start) // last.batch_size
    found = trace.legs[-1]
    if found.ended and len(found.steps) == left:
        return
    more = "" if found.ended else f" and no end on ranks {[r for r in range(len(last.layouts())) if r not in found.ended_early]}"
    raise Broken(
        f"{left} steps after position {found.start}, and the end on every rank",
        f"{len(found.steps)} steps{more}",
        leg=found.number,
        step=min(left, len(found.steps)),
        position=found.start,
    )
