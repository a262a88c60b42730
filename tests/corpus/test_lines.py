"""Different lines against all lines, of a text at once and in parts."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fivepoint.corpus import lines
from fivepoint.corpus.lines import LineCounter, count_lines


def test_lines_of_white_space_do_not_count():
    assert count_lines("a\n\n \t\na\nb\r\nb\n") == (3, 4)
    assert count_lines("") == count_lines("\n \n") == (0, 0)


@settings(deadline=None)
@given(text=st.text("ab \r\n\u2028", max_size=100), data=st.data())
def test_parts_count_as_the_whole(text, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    counter = LineCounter()
    for start, end in zip([0, *places], [*places, len(text)], strict=True):
        counter.add(text[start:end])
    assert counter.result() == count_lines(text)


def test_lines_are_merged_many_at_a_time(monkeypatch):
    monkeypatch.setattr(lines, "_PENDING", 7)
    counter = LineCounter()
    for number in range(1000):
        counter.add(f"line {number % 300}\n")
    assert counter.result() == (300, 1000)
