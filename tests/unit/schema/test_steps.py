"""Steps and decimals: values on the declared grid, inside their bin and the range, read back to the code they had."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.query.pieces import pieces_of
from understudy.schema import Attribute, Intervals, Schema
from understudy.schema.fine_grid import FineGrid, finest
from understudy.schema.steps import Steps

HEAD = '[table]\nname = "t"\nrows = 10\n[attributes.x]\n'


def domain_of(lines: str) -> Intervals:
    domain = Schema.from_toml(HEAD + lines)["x"].domain
    assert isinstance(domain, Intervals)
    return domain


def drawn(domain: Intervals, times: int = 200) -> tuple[np.ndarray, np.ndarray]:
    codes = np.repeat(np.arange(domain.size, dtype=np.int32), times)
    return codes, domain.decode(codes, np.random.default_rng(3))


def assert_on_grid(domain: Intervals, step: str) -> None:
    """Every drawn value is a multiple of the step as its text says, in the range, and has the code it was drawn for."""
    codes, values = drawn(domain)
    assert all(Decimal(domain.show(v)) % Decimal(step) == 0 for v in set(values.tolist()) - set(domain.points))
    assert domain.edges[0] <= values.min() and values.max() <= domain.edges[-1]
    assert (domain.encode([domain.show(v) for v in values.tolist()]) == codes).all()


@pytest.mark.parametrize("lines,step", [
    ('kind = "number"\nrange = [0, 1]\nbins = 7\nstep = 0.05', "0.05"),
    ('kind = "number"\nrange = [0.003, 9.999]\nbins = 6\ndecimals = 2', "0.01"),
    ('kind = "number"\nedges = [-1, -0.33, 0.49, 2.5]\npoints = [0, 0.25]\nstep = 0.125', "0.125"),
    ('kind = "number"\nrange = [0, 100]\nbins = 4\nstep = 2.5\ndecimals = 2', "2.5"),
    ('kind = "integer"\nrange = [0, 100]\nbins = 3\nstep = 10', "10"),
    ('kind = "integer"\nrange = [0, 100]\nstep = 10', "10"),
    ('kind = "number"\nrange = [0, 1e9]\nbins = 20\ndecimals = 0', "1"),
])  # fmt: skip
def test_values_lie_on_the_grid_inside_their_bin(lines: str, step: str) -> None:
    assert_on_grid(domain_of(lines), step)


@pytest.mark.costly
@given(
    st.integers(1, 400), st.integers(0, 4), st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=6, unique=True)
)
@settings(max_examples=150, deadline=None)
def test_the_grid_holds_for_any_edges(numerator: int, digits: int, places: list[int]) -> None:
    step = float(Decimal(numerator).scaleb(-digits))
    try:
        domain = Intervals("number", tuple(sorted(p / 997 for p in places)), step=step)
    except SchemaError as refused:
        assert "holds no multiple of its `step`" in str(refused)
        return
    assert_on_grid(domain, repr(step))


def test_every_step_of_a_bin_is_drawn() -> None:
    domain = domain_of('kind = "number"\nrange = [0, 1]\nbins = 2\nstep = 0.1')
    _, values = drawn(domain, 500)
    assert sorted(set(values.tolist())) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def test_a_step_alone_gives_each_of_its_values_a_cell() -> None:
    index = domain_of('kind = "integer"\nrange = [0, 100]\nstep = 10')
    assert index.labels == ("0", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100")
    assert index.encode(["0", "4", "5", "74", "75", "100", "3000"]).tolist() == [0, 0, 1, 7, 8, 10, 10]
    grades = domain_of('kind = "number"\nrange = [1, 2.1]\nstep = 0.5')
    assert grades.labels == ("1", "1.5", "2")


def test_the_plain_form_says_step_and_decimals_only_where_they_are_set() -> None:
    plain = Schema.from_toml(HEAD + 'kind = "number"\nrange = [0, 1]\nbins = 2').as_json()["attributes"]["x"]
    assert not {"step", "decimals"} & set(plain)
    for lines in (
        'kind = "integer"\nrange = [3, 97]\nstep = 10',
        'kind = "integer"\nrange = [8, 12]\nstep = 10',
        'kind = "number"\nrange = [0, 5]\nstep = 0.5\ndecimals = 2',
        'kind = "number"\nedges = [0, 1, 5]\ndecimals = 1\npoints = [0.5]',
        'kind = "datetime"\nrange = ["2024-01-01T00:00:00", "2024-01-01T08:00:00"]\nstep = 3600',
    ):
        schema = Schema.from_toml(HEAD + lines)
        from understudy.schema.files import schema_from_dict

        assert schema_from_dict(schema.as_json()) == schema
        assert schema.as_json()["attributes"]["x"]["step" if "step" in lines else "decimals"]


@pytest.mark.parametrize("lines,words", [
    ('kind = "integer"\nrange = [0, 9]\nstep = 0.5', "must be a whole number"),
    ('kind = "integer"\nrange = [1, 9]\nstep = 10', "no multiple of `step`"),
    ('kind = "integer"\nrange = [0, 100]\nbins = 20\nstep = 10', "holds no multiple of its `step`"),
    ('kind = "integer"\nrange = [0, 9]\ndecimals = 2', "has no key 'decimals'"),
    ('kind = "date"\nrange = ["2024-01-01", "2024-01-09"]\nstep = 7', "has no key 'step'"),
    ('kind = "number"\nrange = [0, 9]\nbins = 3\nstep = 0', "above 0"),
    ('kind = "number"\nrange = [0, 9]\nbins = 3\nstep = true', "above 0"),
    ('kind = "number"\nrange = [0, 9]\nbins = 3\ndecimals = 99', "whole number up to 15"),
    ('kind = "number"\nrange = [0, 9]\nbins = 3\nstep = 0.25\ndecimals = 1', "more than the 1 `decimals`"),
    ('kind = "number"\nrange = [0, 9]\nbins = 3\npoints = [0.125]\ndecimals = 2', "more than the 2 `decimals`"),
    ('kind = "number"\nrange = [0, 1e12]\nbins = 3\nstep = 1e-9', "more steps than a double"),
    ('kind = "number"\nrange = [0, 1e6]\nstep = 0.01\nbins = "each"', "set `bins`"),
])  # fmt: skip
def test_what_cannot_be_written_is_refused(lines: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        domain_of(lines)


def test_the_fine_grid_of_stepped_numbers_is_made_of_steps() -> None:
    domain = domain_of('kind = "number"\nrange = [0, 3]\nbins = 3\npoints = [0]\nstep = 0.25')
    fine = FineGrid(domain, finest(domain, None)).fine
    assert fine.bins == 12  # 0.25, 0.5, … 3: every step but the point is a cell
    assert_on_grid(fine, "0.25")


def test_a_query_counts_steps() -> None:
    attribute = Attribute("x", domain_of('kind = "number"\nrange = [0, 1]\nbins = 1\nstep = 0.1'))
    pieces = pieces_of(attribute, [0.3])
    assert np.allclose(pieces.mass[0], [3 / 11, 1 / 11, 7 / 11])
    assert np.allclose(pieces.moment[0], [0.3 / 11, 0.3 / 11, 4.9 / 11])


def test_multiples_are_the_doubles_of_their_texts() -> None:
    steps = Steps.of(0.05)
    index = np.arange(-5000.0, 5000.0)
    assert all(value == float(Decimal(int(k)) * Decimal("0.05")) for k, value in zip(index, steps.value(index)))
    assert (steps.at_least(steps.value(index)) == index).all()
    assert (steps.at_most(np.nextafter(steps.value(index), -np.inf)) == index - 1).all()
