"""What a run's TOML file may ask of its sources: budgets, sign-offs, repeats within a step, one tokenizer, each corpus once."""

import json
import shutil
from dataclasses import replace

import pytest
from configured import BASE, compiled, refusal, write_corpora

from fivepoint.errors import BudgetError, PlanError
from fivepoint.reference.loader import Loader
from fivepoint.reference.records import Budget


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_corpora(tmp_path_factory.mktemp("runs"))


@pytest.mark.clause("C1.4")
def test_epochs_of_one_corpus_in_two_phases_are_added(folder):
    # code has 24 windows, draws 30 in the first phase through one source and 30 in the second through another.
    text = """
    seed = 1
    seq_len = 8
    samples = 60
    [sources.a]
    path = "code"
    max_epochs = 3
    [sources.b]
    path = "copy"
    [[phases]]
    until = 30
    weights = { a = 1 }
    [[phases]]
    until = 60
    weights = { b = 1 }
    """
    message = refusal(folder, text, BudgetError)
    assert "source 'a' may begin 3 epochs (max_epochs) and the plan begins 4" in message
    assert compiled(folder, text.replace("max_epochs = 3", "max_epochs = 4")).length == 60


@pytest.mark.clause("C1.4")
@pytest.mark.parametrize(("samples", "fits"), [(48, True), (49, False)])
def test_a_budget_holds_to_the_sample(folder, samples, fits):
    text = f'seed = 1\nseq_len = 8\nsamples = {samples}\n[sources.code]\npath = "code"\nmax_epochs = 2\n'
    if fits:
        assert compiled(folder, text).length == samples
    else:
        message = refusal(folder, text, BudgetError)
        assert "    0  code                          49          24               2.042            2" in message


@pytest.mark.clause("C1.5")
@pytest.mark.parametrize(("samples", "signed", "fits"), [(96, "", True), (97, "", False), (97, 'repeats_signed_off = "me: why"\n', True)])
def test_above_four_epochs_somebody_signs(folder, samples, signed, fits):
    text = f'seed = 1\nseq_len = 8\nsamples = {samples}\n[sources.code]\npath = "code"\n{signed}'
    if fits:
        assert compiled(folder, text).length == samples
    else:
        assert "source 'code' is passed through 4.04 times, and above 4 somebody signs off on it" in refusal(folder, text, BudgetError)


@pytest.mark.clause("C1.12")
def test_a_source_that_no_phase_is_long_enough_to_draw_is_refused(folder):
    # Three phases of 50 at a share of 0.008 are 1.2 samples together, and none of them comes to its turn.
    phases = "".join(f"[[phases]]\nuntil = {end}\nweights = {{ web = 0.992, code = 0.008 }}\n" for end in (50, 100, 150))
    message = refusal(folder, BASE.replace("samples = 100", "samples = 150").partition("[[phases]]")[0] + phases, PlanError)
    assert "source 'code' has a share of 1.20 samples over the run and is never drawn" in message


@pytest.mark.clause("C1.11")
def test_a_step_that_would_hold_a_sample_twice_is_refused(folder):
    # docs has 12 windows: a step of 30 at a share of a half holds 15 of them.
    text = (
        BASE.replace('"code"\nmax_epochs = 3', '"docs"')
        .replace("0.6, code = 0.4", "0.5, code = 0.5")
        .replace("global_batch = 10", "global_batch = 30")
    )
    assert "source 'code' has 12 windows and is drawn more often in one step of 30 samples in phase 0" in refusal(folder, text, PlanError)
    signed = text.replace('path = "docs"', 'path = "docs"\nrepeats_in_step_signed_off = "me: a tiny glossary"')
    assert compiled(folder, signed).batch_sizes == ((0, 30),)


@pytest.mark.clause("C1.9")
def test_one_corpus_twice_in_a_union_is_refused_also_under_another_name(folder):
    message = refusal(folder, BASE.replace('path = "code"', 'union = ["code", "docs", "copy"]'), PlanError)
    assert "source 'code' holds one corpus twice, as 'code' and 'renamed'" in message


@pytest.mark.clause("C1.9")
def test_one_corpus_in_two_sources_of_a_phase_is_refused(folder):
    message = refusal(folder, BASE.replace('path = "web"', 'union = ["web", "copy"]'), PlanError)
    assert "phase 0 weighs one corpus twice, 'renamed' of source 'web' is in source 'code'" in message


@pytest.mark.clause("D0.12")
def test_corpora_of_two_tokenizers_are_refused(folder):
    manifest = json.loads((folder / "docs" / "manifest.json").read_text())
    shutil.copytree(folder / "docs", folder / "foreign", dirs_exist_ok=True)
    (folder / "foreign" / "manifest.json").write_text(json.dumps(manifest | {"tokenizer": {"name": "other", "sha256": "1" * 64}}))
    text = BASE.replace('path = "code"', 'path = "foreign"')
    said = refusal(folder, text, PlanError)
    assert "expected corpora of one tokenizer, found other (111111111111) in corpus 'docs' of source 'code'" in said
    signed = text.replace('path = "foreign"', 'path = "foreign"\ntokenizer_signed_off = "us: the same, saved anew"')
    plan = compiled(folder, signed)
    assert plan.budgets["code"].tokenizer_signed_off == "us: the same, saved anew"
    with Loader(plan, 0, 1, 10) as loader:
        assert len(next(next(loader)).inputs) == 10
    with pytest.raises(PlanError, match="one tokenizer"):
        Loader(replace(plan, budgets={"code": Budget(max_epochs=3)}), 0, 1, 10)
