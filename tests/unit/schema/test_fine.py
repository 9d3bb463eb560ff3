"""The fine grid: bins halved again and again, down to single values or two bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.errors import SchemaError
from understudy.schema import Attribute, Intervals, Schema
from understudy.schema.domain import MAX_CODES
from understudy.schema.fine_grid import DEEPEST, FineGrid, cells_of, finest

DOMAINS = {
    "unequal bins of whole numbers, with points": Intervals("integer", (0, 2000, 4000, 4005, 200_000), (0, 7, 4001)),
    "one cell a value": Intervals("integer", (-0.5, 0.5, 1.5, 9.5)),
    "numbers": Intervals("number", (0, 2.5, 3, 10), (0.0, 2.75)),
    "dates": Intervals("date", (16_436, 18_262, 18_993, 18_996), (), "%d.%m.%Y"),
    "seconds": Intervals("datetime", (0, 86_400, 90_000)),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_cells_lie_inside_their_bin_and_hold_values(name: str) -> None:
    domain = DOMAINS[name]
    for depth in range(1, min(9, finest(domain, None)) + 1):
        grid = FineGrid(domain, depth)
        fine, cells = grid.fine, np.arange(grid.fine.bins)
        assert fine.size == cells_of(domain, depth) and fine.edges[0] == domain.edges[0]
        assert fine.edges[-1] == domain.edges[-1] and set(fine.points) == set(domain.points)
        codes = np.repeat(fine.bin_codes[cells], 5)
        values = fine.decode(codes, np.random.default_rng(depth)).astype(float)
        assert (fine.encode_numbers(values) == codes).all()
        assert (domain.encode_numbers(values) == np.repeat(domain.bin_codes[grid.bin], 5)).all()
        assert np.bincount(grid.bin, minlength=domain.bins).max() <= 2**depth


@pytest.mark.parametrize("name", DOMAINS)
def test_a_grid_is_made_of_cells_of_deeper_ones(name: str) -> None:
    """The nodes that are halved come in the same order, so coefficients of one grid are a start of the other's."""
    domain = DOMAINS[name]
    deep = FineGrid(domain, min(9, finest(domain, None)))
    below = np.asarray(deep.fine.edges)
    for depth in range(1, deep.depth):
        grid = FineGrid(domain, depth)
        edges = np.asarray(grid.fine.edges)
        assert set(edges) <= set(below)
        for own, other in zip(grid.levels, deep.levels):
            assert all((edges[a] == below[b]).all() for a, b in zip(own, other))


@pytest.mark.parametrize("name", DOMAINS)
def test_halves_and_bins_make_all_cells(name: str) -> None:
    """As many nodes are halved as there are cells beyond the bins; halves differ by at most one value."""
    domain = DOMAINS[name]
    grid = FineGrid(domain, min(7, finest(domain, None)))
    assert grid.coefficients == grid.fine.bins - domain.bins
    held = np.concatenate([[0], np.cumsum(grid.values)])
    for first, middle, end in grid.levels:
        left, right = held[middle] - held[first], held[end] - held[middle]
        assert (right >= 1).all() and ((left - right >= 0) & (left - right <= 1)).all()
    if domain.integral:
        assert np.bincount(grid.bin, weights=grid.values) == pytest.approx(domain.own_values)


def test_how_deep_a_grid_goes() -> None:
    assert finest(Intervals("integer", (0, 5)), None) == 3  # six values
    assert finest(Intervals("integer", (0, 100_000)), None) == DEEPEST
    assert finest(Intervals("number", tuple(np.linspace(0, 1, 17))), None) == 11
    assert cells_of(Intervals("number", tuple(np.linspace(0, 1, 17)), (0,)), 11) <= MAX_CODES
    assert finest(Intervals("integer", (0, 100_000)), 16) == 4
    assert finest(Intervals("integer", (0, 2, 5)), 64) == 2  # no more than the values there are
    with pytest.raises(SchemaError, match="every bin holds one value"):
        finest(Intervals("integer", (-0.5, 0.5, 1.5)), None)
    with pytest.raises(SchemaError, match="more than 65,535"):
        finest(Intervals("number", tuple(np.linspace(0, 1, 17))), 8192)
    with pytest.raises(SchemaError, match="cannot be halved"):
        finest(Intervals("number", tuple(np.linspace(0, 1, 40_001))), None)


HEAD = '[table]\nname = "t"\nrows = 4\n'
INCOME = '[attributes.income]\nkind = "integer"\nrange = [0, 100000]\nbins = 16\n'


def test_the_schema_file_says_fine() -> None:
    schema = Schema.from_toml(HEAD + INCOME + 'fine = "wavelet"\nfine_cells = 32\n')
    attribute = schema["income"]
    assert attribute.fine == "wavelet" and attribute.finest_grid == FineGrid(attribute.domain, 5)  # type: ignore[arg-type]
    from understudy.schema.files import schema_from_dict
    from understudy.schema.writing import write_toml

    assert schema_from_dict(schema.as_json()) == schema == Schema.from_toml(write_toml(schema))
    plain = Schema.from_toml(HEAD + INCOME)
    assert plain["income"].finest_grid is None and plain.hash != schema.hash and plain.counted is plain


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('fine = "haar"', '`fine` is "wavelet"'),
        ("fine_cells = 8", "`fine_cells` goes with"),
        ('fine = "wavelet"\nfine_cells = 12', "a power of two"),
        ('fine = "wavelet"\nfine_cells = true', "a power of two"),
        ('fine = "wavelet"\n[attributes."income (fine)"]\nkind = "boolean"', "the same name"),
    ],
)
def test_what_the_schema_file_refuses(lines: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_toml(HEAD + INCOME + lines + "\n")


def test_an_attribute_without_order_has_no_fine_grid() -> None:
    with pytest.raises(SchemaError, match="no key 'fine'"):
        Schema.from_toml(HEAD + '[attributes.sex]\nkind = "category"\nvalues = ["f", "m"]\nfine = "wavelet"\n')
    with pytest.raises(SchemaError, match="ordered attributes"):
        from understudy.schema import Booleans

        Attribute("sex", Booleans(), fine="wavelet")


def test_an_engine_sees_one_more_column() -> None:
    """Missing and undeclared cells go where they go on the coarse grid."""
    text = '[attributes.km]\nkind = "number"\nedges = [0, 10, 30]\npoints = [0]\nmissing = ["none"]\nother = "12"\nfine = "wavelet"\n'
    schema = Schema.from_toml('[table]\nname = "t"\nrows = 6\n' + text)
    coded = encode_table(open_source(pa.table({"km": ["0", "3", "none", "much", "31", "30"]})), schema.counted)
    assert coded.order == ("km",) and list(coded.columns) == ["km", "km (fine)"]
    coarse, fine = schema["km"], schema.counted["km (fine)"]
    assert coded.columns["km"].tolist() == [0, 1, 3, 2, 2, 2] and coded.columns["km (fine)"].dtype == np.uint16
    assert fine.column == "km" and coded.columns["km (fine)"][2] == fine.missing_code == fine.size - 1
    values, _ = fine.decode(coded.columns["km (fine)"], np.random.default_rng(1))
    present = np.arange(6) != 2
    assert (coarse.encode_numbers(values, np.zeros(6, bool)) == coded.columns["km"])[present].all()
    assert abs(values[1] - 3) < 0.01 and abs(values[3] - 12) < 0.01
