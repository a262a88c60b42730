"""A run's TOML file: what it compiles to, and what is refused with which sentence."""

import shutil

import pytest
from configured import BASE, compiled, refusal, write_corpora

from fivepoint.errors import ConfigError, CorpusError, PlanError
from fivepoint.reference.config import compile_run
from fivepoint.reference.plan import Plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_corpora(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("weight", ["1e9999999999999999999999", "1e-9999999999999999999999"])
def test_an_exponent_beyond_all_decimals(folder, weight):
    assert "not valid TOML: expected numbers with exponents" in refusal(folder, BASE.replace("web = 0.6", f"web = {weight}"))


def test_a_value_too_deep_to_show(folder):
    assert "expected an integer for seed, found one too deep to show" in refusal(
        folder, "seed." + "a." * 3000 + "b = 1" + BASE.replace("seed = 7", "")
    )


UNKNOWN = {
    "at the top": (
        ("seed = 7", "sed = 7"),
        "expected only the keys seed, seq_len, ",
        "at its top level, found 'sed'; write seed, or take it out",
    ),
    "in a source": (
        ("max_epochs = 3", "max_epoch = 3"),
        "path, union, documents, windows, max_epochs,",
        "in sources.code, found 'max_epoch'; write max_epochs",
    ),
    "in a phase": (
        ("[[phases]]", "[[phases]]\ncomment = 1"),
        "expected only the keys until, rule, weights",
        "in phases[0], found 'comment'; correct the key, or",
    ),
}


@pytest.mark.parametrize("place", UNKNOWN)
def test_an_unknown_key_is_named_with_its_table_and_those_that_are_known(folder, place):
    change, *says = UNKNOWN[place]
    message = refusal(folder, BASE.replace(*change, 1))
    assert all(each in message for each in says), message


@pytest.mark.parametrize("change", [("seq_len = 8", "seq_len = 8.5"), ("max_epochs = 3", "max_epochs = 8.5")])
def test_a_number_is_shown_as_it_was_written(folder, change):
    name = change[0].split()[0]
    message = refusal(folder, BASE.replace(*change))
    assert f"{name}, found 8.5; correct it" in message and "expected an integer for" in message, message


def test_another_file_is_refused_by_what_it_seems_to_be(folder):
    compiled(folder, BASE).save(folder / "plan.json")
    with pytest.raises(ConfigError, match=r"plan\.json: expected a run's TOML file, found what seems to be a plan; it is compiled already"):
        compile_run(folder / "plan.json")
    with pytest.raises(ConfigError, match=r"none\.toml: No such file or directory; give a run's TOML file"):
        compile_run(folder / "none.toml")


def test_decimals_become_exact_integers_and_phases_follow_one_another(folder):
    plan = compiled(folder, BASE)
    assert [(phase.length, phase.weights) for phase in plan.phases] == [(50, {"code": 2, "web": 3}), (50, {"code": 1, "web": 4})]
    assert [source.name for source in plan.sources] == ["code", "web"]
    assert plan.batch_sizes == ((0, 10),)


def test_the_order_in_which_sources_are_written_decides_nothing(folder):
    swapped = BASE.replace('[sources.web]\npath = "web"\n', "").replace("[[phases]]", '[sources.web]\npath = "web"\n[[phases]]', 1)
    assert compiled(folder, swapped).plan_hash == compiled(folder, BASE).plan_hash


@pytest.mark.parametrize(
    ("length", "samples"),
    [
        ('tokens = "0.0009M"', 112),
        ("tokens = 807", 100),
        ("samples = 100", 100),
        ('samples = "0.1K"', 100),
        ("steps = 10", 100),
        ('steps = "0.01K"', 100),
    ],
)
def test_length_in_any_unit(folder, length, samples):
    assert compiled(folder, BASE.replace("samples = 100", length)).length == samples


@pytest.mark.parametrize("until", ["50", '"50%"', '"50 samples"', '"400 tokens"', '"407 tokens"', '"5 steps"', '"50.99%"'])
def test_until_in_any_unit(folder, until):
    assert compiled(folder, BASE.replace('"50%"', until)).phases[0].length == 50


def test_batch_ramp_counts_steps_by_its_sizes(folder):
    ramp = BASE.replace("global_batch = 10", "").replace("samples = 100", "steps = 12").replace("[[phases]]", BATCH + "[[phases]]", 1)
    plan = compiled(folder, ramp)
    # Steps of 4 begin at 0, 4 and 8, the first at or after 10 begins at 12.
    assert plan.batch_sizes == ((0, 4), (10, 10))
    assert plan.length == 12 + 9 * 10


BATCH = '[[batch]]\nfrom = 0\nsize = 4\n[[batch]]\nfrom = "80 tokens"\nsize = 10\n'


def test_skips_at_one_position_are_added(folder):
    skips = "[[skips]]\nat = 30\ncount = 2\n[[skips]]\nat = 5\ncount = 1\n[[skips]]\nat = 30\ncount = 3\n"
    assert compiled(folder, BASE + skips).skips == ((5, 1), (30, 5))


def test_one_source_needs_no_phases(folder):
    plan = compiled(folder, 'seed = 1\nseq_len = 8\nsamples = 90\n[sources.web]\npath = "web"\n')
    assert [phase.to_json() for phase in plan.phases] == [
        {"length": 90, "grid": 8, "seq_len": 8, "rule": "earliest-deadline", "weights": {"web": 1}}
    ]


def test_a_plan_saved_elsewhere_still_finds_its_corpora(folder, tmp_path):
    plan = compiled(folder, BASE)
    plan.save(tmp_path / "plan.json")
    found = Plan.load(tmp_path / "plan.json")
    assert found == plan
    assert (found.folder / found.paths["web"][0]).resolve() == (folder / "web").resolve()


def test_a_plan_moved_with_its_corpora_keeps_its_hash(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "moved here")
    assert compiled(tmp_path / "moved here", BASE).plan_hash == compiled(folder, BASE).plan_hash


@pytest.mark.clause("C1.7")
@pytest.mark.parametrize(
    ("weight", "says"),
    [
        ("-0.1", "expected a weight of 0, or from 1e-30 to 1e18, found -0.1"),
        ("nan", "expected a weight of 0, or from 1e-30 to 1e18, found NaN"),
        ("inf", "expected a weight of 0, or from 1e-30 to 1e18, found Infinity"),
        ("1e-9", "form a union of small sources, or ask for a larger weight_resolution"),
        ("true", "expected a number for phases[0].weights.code, found True"),
        ('"0.4"', "expected a number for phases[0].weights.code, found '0.4'"),
    ],
)
def test_weights_that_are_none_are_refused(folder, weight, says):
    assert says in refusal(folder, BASE.replace("code = 0.4", f"code = {weight}"))


def test_all_weights_zero_are_refused(folder):
    message = refusal(folder, BASE.replace("web = 0.6, code = 0.4", "web = 0, code = 0.0"))
    assert "phase 0: weights: expected at least one positive weight, found none" in message


def test_a_source_at_zero_in_one_phase_rests(folder):
    plan = compiled(folder, BASE.replace("code = 0.4", "code = 0"))
    assert [phase.weights for phase in plan.phases] == [{"web": 1}, {"code": 1, "web": 4}]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("seed = 7", ""), "expected the key seed at its top level, found none; add it"),
        (("seed = 7", "seed = -1"), "expected seed of at least 0, found -1; correct it"),
        (("seed = 7", "sead = 7\nseed = 7"), "found 'sead'; write seed, or take it out"),
        (("samples = 100", ""), "expected one of tokens, samples and steps, found none"),
        (("samples = 100", "samples = 100\nsteps = 10"), "expected one of tokens, samples and steps, found samples and steps"),
        (("seed = 7", f"seed = {'7' * 5000}"), "is not valid TOML"),
        (("seed = 7", f"seed = {'[' * 100_000}"), "is not valid TOML"),
        (("samples = 100", 'samples = "a lot"'), "samples: expected a quantity such as 4096"),
        (("samples = 100", "tokens = 7"), "expected a run of at least one sample of 8 tokens, found tokens = 7"),
        (("samples = 100", 'samples = "50%"'), "expected no percentage, found 50%"),
        (("global_batch = 10", ""), ""),
        (("web = 0.6", "wep = 0.6"), "phase 0: expected weights of the sources web, code, found 'wep'"),
        (('"50%"', '"0%"'), "phase 0: expected until to lie after sample 0 and at most at 100, the run's end, found '0%' = 0"),
        (('"50%"', '"101%"'), "phase 0: until: expected at most 100%, found 101%"),
        (('"100%"', '"50%"'), "phase 1: expected until to lie after sample 50"),
        (('"100%"', '"99%"'), 'expected the last phase to end with the run, at sample 100, found 99; write until = "100%"'),
        (('path = "code"', ""), "sources.code: expected path or union, found neither"),
        (('path = "code"', 'path = "code"\nunion = ["docs"]'), "sources.code: expected path or union, found both"),
        (('path = "code"', 'path = "s3://bucket/code"'), "expected a local folder, found s3://bucket/code"),
        (("[sources.code]", "[sources.web]"), "is not valid TOML"),
        (('path = "code"', 'path = "code"\nwindows = "grouped"'), "expected sources.code.windows to be 'permuted', found 'grouped'"),
    ],
)
def test_what_is_refused_in_one_sentence(folder, change, says):
    text = BASE.replace(*change)
    if not says:  # a run without batch sizes is fine while nothing counts steps
        assert compiled(folder, text).batch_sizes == ()
        return
    message = refusal(folder, text)
    assert says in message
    assert "\n" not in message


def test_steps_without_a_batch_size_are_refused(folder):
    message = refusal(folder, BASE.replace("global_batch = 10", "").replace("samples = 100", "steps = 10"))
    assert "expected global_batch or [[batch]] beside a number of steps, found neither" in message


def test_a_missing_corpus_is_named(folder):
    message = refusal(folder, BASE.replace('"code"', '"nowhere"'), CorpusError)
    assert message.startswith(
        f"{folder / 'run.toml'}: sources.code: expected a corpus at {folder / 'nowhere'}, found no folder with a manifest"
    )
    assert message.endswith("correct the path, or prepare it")


@pytest.mark.clause("C1.12")
def test_a_source_shorter_than_one_window_is_refused(folder):
    message = refusal(folder, BASE.replace('"code"', '"short"'), PlanError)
    assert "expected source 'code' to hold a window of 9 tokens, found corpora of 8 tokens" in message


def test_text_that_is_not_utf8_is_refused(folder):
    (folder / "latin.toml").write_bytes(b"# caf\xe9\nseed = 1\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        compile_run(folder / "latin.toml")


def test_a_scaled_number_without_a_unit_is_refused(folder):
    text = BASE.replace("global_batch = 10", '[[batch]]\nfrom = 0\nsize = 10\n[[batch]]\nfrom = "0.04K"\nsize = 20')
    text = text.replace("samples = 100\n", "").replace("seed = 7", "seed = 7\nsamples = 100")
    assert 'expected a unit, "0.04K samples" or "0.04K tokens"' in refusal(folder, text)


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        ("[[batch]]\nfrom = 0\nsize = 10\n[[batch]]\nfrom = 100\nsize = 20", "batch of 20: expected it to begin within the run"),
        ("[[batch]]\nfrom = 0\nsize = 101", "expected a run of at least one step, 101 samples, found 100"),
    ],
)
def test_a_batch_size_that_no_step_has_is_refused(folder, batch, says):
    text = BASE.replace("global_batch = 10\n", "")
    assert says in refusal(folder, text + batch)
