"""Loaders that run what they should refuse (C1.4, C1.5, C1.7, C1.9, C1.11, C1.12)."""

import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from ...errors import BudgetError, PlanError
from ...reference.manifest import Manifest
from ...reference.plan import Plan
from ..driver import Phase, Settings
from ..drivers.reference import plan_for
from .d0_files import Repairs
from .honest import Honest


class BudgetIgnored(Honest):
    """Never looks at max_epochs."""

    clause, fault = "C1.4", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan without budgets."""
        return super().make_plan(corpus, replace(settings, max_epochs={}))


class BudgetsOfSourcesAlone(Honest):
    """Looks at max_epochs where every phase has one source, for which it is easily counted."""

    clause, fault = "C1.4", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan without budgets where there is a mixture."""
        mixed = any(len(phase.weights) > 1 for phase in settings.phases)
        return super().make_plan(corpus, replace(settings, max_epochs={}) if mixed else settings)


class BudgetWithoutSkips(Honest):
    """Counts against the budget what is served, and not what is passed over."""

    clause, fault = "C1.4", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Admit the plan as it would be without skips."""
        super().make_plan(corpus, replace(settings, skips=[]))
        return super().make_plan(corpus, replace(settings, max_epochs={}))


class BudgetOfEachPhase(Honest):
    """Counts the epochs of each phase by themselves."""

    clause, fault = "C1.4", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Admit each phase alone."""
        for phase in settings.phases:
            held = {name: most for name, most in settings.max_epochs.items() if name in phase.weights}
            skips = settings.skips if len(settings.phases) == 1 else []
            super().make_plan(corpus, replace(settings, phases=[phase], skips=skips, max_epochs=held))
        return super().make_plan(corpus, replace(settings, max_epochs={}))


class BudgetRoundedDown(Honest):
    """Counts whole epochs, and lets a run begin one more."""

    clause, fault = "C1.4", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with budgets of one epoch more."""
        return super().make_plan(corpus, replace(settings, max_epochs={name: most + 1 for name, most in settings.max_epochs.items()}))


class SignatureNotAskedFor(Honest):
    """Goes through a source as often as it is asked to, whoever signed."""

    clause, fault = "C1.5", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with the signature for many epochs wherever it is missing."""
        with suppress(BudgetError):
            return super().make_plan(corpus, settings)
        # What breaks a budget is refused here again, signature or none.
        return super().make_plan(corpus, replace(settings, signed_off=True))


class SignatureAboveFiveEpochs(Honest):
    """Rounds the epochs of a run down before it asks for a signature."""

    clause, fault = "C1.5", 37

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan, signing for what is drawn for less than five epochs."""
        plan = plan_for(corpus, replace(settings, signed_off=True))
        most = max(draws / source.window_count(settings.seq_len) for draws, source in zip(plan.resolver.draws, plan.sources, strict=True))
        return super().make_plan(corpus, replace(settings, signed_off=settings.signed_off or 4 < most < 5))


class TinyWeightsLeftOut(Honest):
    """Leaves out a source whose share is below a thousandth."""

    clause, fault, also = "C1.7", 36, ("C1.12",)

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with the weights that remain."""
        return super().make_plan(corpus, replace(settings, phases=[self.kept(phase) for phase in settings.phases]))

    @staticmethod
    def kept(phase: Phase) -> Phase:
        """Return the phase with the weights that are large enough."""
        total = sum(Fraction(weight) for weight in phase.weights.values())
        return Phase(phase.length, {name: weight for name, weight in phase.weights.items() if Fraction(weight) * 1000 >= total})


class TwinsServed(Repairs):
    """Knows corpora by their names, and serves one collection under two."""

    clause, fault, also = "C1.9", 40, ("C1.4",)

    def repair(self, folder: Path) -> None:
        """Give the copy of each corpus a content of its own, as far as its manifest tells."""
        with suppress(OSError, ValueError):
            path = folder / "manifest.json"
            manifest = json.loads(path.read_text())
            own = [shard | {"sha256": self.own_hash(folder.name, shard["sha256"])} for shard in manifest["shards"]]
            path.write_text(json.dumps(manifest | {"shards": own}))

    @staticmethod
    def own_hash(name: str, sha256: str) -> str:
        """Return a hash that depends on the corpus' name as well."""
        return hashlib.sha256(f"{name} {sha256}".encode()).hexdigest()


class RepeatsInsideSteps(Honest):
    """Plans without a thought of steps, and trains a sample twice in one."""

    clause, fault = "C1.11", None

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan without a batch size."""
        return super().make_plan(corpus, replace(settings, batch_size=None))


class NeverDrawn(Honest):
    """Accepts a source whose turn never comes."""

    clause, fault = "C1.12", 36

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan, and admit such a source."""
        plan = plan_for(corpus, settings)
        try:
            plan.admit()
        except PlanError as reason:
            if "never drawn" not in str(reason):
                raise
        return plan


class SourcesWithoutWindowsLeftOut(Honest):
    """Leaves out a source that holds no whole window, and gives its share to the others."""

    clause, fault = "C1.12", 36

    def make_plan(self, corpus: Path, settings: Settings) -> Plan:
        """Plan with the sources that hold a window."""
        full = {
            name
            for name, corpora in settings.sources.items()
            if any(Manifest.load(corpus / folder).tokens > settings.seq_len for folder in corpora)
        }
        phases = [Phase(phase.length, {name: w for name, w in phase.weights.items() if name in full}) for phase in settings.phases]
        return super().make_plan(corpus, replace(settings, phases=phases))
