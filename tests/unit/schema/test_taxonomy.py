"""Taxonomies: groups that nest, values that stand for themselves, and the binary tree over bins."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import SchemaError
from understudy.schema import Attribute, Axis, Booleans, Categories, Intervals, Schema, Taxonomy
from understudy.schema.taxonomy import taxonomy_of
from understudy.schema.value_names import codes_named

REGIONS = Categories(("a", "b", "c", "d", "e", "f"))


def assert_nested(taxonomy: Taxonomy, size: int) -> None:
    finer, before = tuple(range(size)), size
    for level in taxonomy.levels:
        assert len(level.group) == size and set(level.group) == set(range(len(level.labels)))
        assert 1 < len(level.labels) < before
        home: dict[int, int] = {}
        assert all(home.setdefault(f, g) == g for f, g in zip(finer, level.group)), "a level does not nest in the next"
        finer, before = level.group, len(level.labels)


def test_flat_groups_and_values_of_their_own():
    taxonomy = Taxonomy.of_groups({"Gov": ["a", "c"], "Self": ["b", "d"]}, REGIONS)
    assert [level.labels for level in taxonomy.levels] == [("Gov", "Self", "e", "f")]
    assert taxonomy.levels[0].group == (0, 1, 0, 1, 2, 3)


def test_groups_nest():
    tree = {"North": {"Coast": ["a", "b"], "Lakes": ["c"]}, "South": {"Hills": ["d", "e"], "Single": "f"}}
    taxonomy = Taxonomy.of_groups(tree, REGIONS)
    assert [level.labels for level in taxonomy.levels] == [("Coast", "Lakes", "Hills", "Single"), ("North", "South")]
    assert_nested(taxonomy, 6)


def test_branches_of_different_depth_nest():
    tree = {"North": {"Coast": {"Left": ["a", "b"], "Right": ["c"]}}, "South": ["d", "e"]}
    taxonomy = Taxonomy.of_groups(tree, REGIONS)
    assert [len(level.labels) for level in taxonomy.levels] == [5, 4, 3]
    assert_nested(taxonomy, 6)


def test_groups_that_change_nothing_leave_no_level():
    assert Taxonomy.of_groups({"All": list("abcdef")}, REGIONS).levels == ()
    assert Taxonomy.of_groups({"A": ["a"], "B": ["b"]}, REGIONS).levels == ()


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"G": ["a", "z"]}, "'z', which is not in `values`"),
        ({"G": ["a"], "H": ["a"]}, "'a' twice"),
        ({"G": 3}, "list of values or a table"),
        ({"G": [["a"]]}, "list of values or a table"),
        ({"f": ["a", "b"]}, "'f' is a group of the taxonomy and a value outside it"),
    ],
)
def test_impossible_groups(tree, words):
    with pytest.raises(SchemaError, match=words):
        Taxonomy.of_groups(tree, REGIONS)


def test_a_group_may_be_called_like_a_value_in_it():
    assert Taxonomy.of_groups({"a": ["a", "b"]}, REGIONS).levels[0].labels == ("a", "c", "d", "e", "f")


@given(bins=st.integers(3, 70), points=st.sets(st.integers(0, 699), max_size=5))
def test_the_binary_tree_over_bins(bins, points):
    domain = Intervals(
        "integer", tuple(10.0 * i for i in range(bins + 1)), tuple(float(p) for p in points if p < bins * 10)
    )
    taxonomy = taxonomy_of(domain)
    assert taxonomy is not None
    assert_nested(taxonomy, domain.size)
    widths = [2 ** (i + 1) for i in range(len(taxonomy.levels))]
    for level, width in zip(taxonomy.levels, widths):
        groups = np.asarray(level.group)[domain.bin_codes]
        assert (np.diff(groups) != 0).tolist() == [(i + 1) % width == 0 for i in range(bins - 1)]


def test_labels_of_the_binary_tree():
    ages = Intervals("integer", (0.0, 10.0, 20.0, 30.0, 40.0, 50.0))
    assert [level.labels for level in Taxonomy.of_order(ages).levels] == [
        ("0..19", "20..39", "40..50"),
        ("0..39", "40..50"),
    ]
    numbers = Intervals("number", (0.0, 0.5, 1.0, 2.0), (0.0,))
    assert Taxonomy.of_order(numbers).levels[0].labels == ("0", "[0, 1)", "[1, 2]")


def test_small_and_unordered_domains_have_no_tree():
    assert taxonomy_of(Intervals("number", (0.0, 1.0, 2.0))) is None
    assert (
        taxonomy_of(Attribute("a", Booleans()).intervals) is None
        and taxonomy_of(Attribute("a", REGIONS).intervals) is None
    )


def test_a_large_domain_is_not_quadratic():
    start = time.process_time()
    Taxonomy.of_order(Intervals("integer", tuple(i - 0.5 for i in range(60_001))))
    Taxonomy.of_groups(
        {f"g{i}": [str(3 * i), str(3 * i + 1)] for i in range(20_000)}, Categories(tuple(map(str, range(60_000))))
    )
    assert time.process_time() - start < 60


def test_views_keep_missing_apart():
    taxonomy = Taxonomy.of_groups({"G": ["a", "b"], "H": ["c", "d"]}, REGIONS)
    attribute = Attribute("r", REGIONS, taxonomy, missing=("",))
    axis = Axis("r", level=1)
    assert attribute.view_size(axis) == 5 and attribute.view_labels(axis) == ("G", "H", "e", "f", "missing")
    assert attribute.view_map(axis).tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert attribute.levels == 2


@pytest.mark.costly
def test_levels_of_an_order_are_laid_out_when_looked_at():
    """A schema with many large attributes opens at once; a stranger's release may have one."""
    attribute = Attribute("a", Intervals("integer", tuple(v - 0.5 for v in range(65_536))))
    assert attribute.taxonomy is not None and attribute.levels == 16
    made = attribute.taxonomy.levels._made
    assert not made and attribute.view_size(Axis("a", 3)) == 8192 and list(made) == [2]
    assert attribute.taxonomy.levels[-1].labels == ("0..32767", "32768..65534")
    assert [len(level.labels) for level in attribute.taxonomy.levels[13:]] == [4, 2]
    assert attribute.taxonomy == taxonomy_of(attribute.domain) and attribute.taxonomy != taxonomy_of(
        Attribute("a", REGIONS).intervals
    )
    with pytest.raises(IndexError):
        attribute.taxonomy.levels[15]


@given(st.integers(1, 300))
def test_an_order_has_as_many_levels_as_it_says(bins: int):
    levels = Taxonomy.of_order(Intervals("number", tuple(map(float, range(bins + 1))))).levels
    assert len(levels) == len(list(levels)) == len([w for w in (2, 4, 8, 16, 32, 64, 128, 256) if w < bins])
    assert_nested(Taxonomy(levels), bins)


# -- groups by prefix ------------------------------------------------------------------------------------------

CODES = ("E11.9", "E11.0", "E10.1", "I10", "I21.4", "J45")
BY_PREFIX = '[table]\nname = "t"\nrows = 9\n[attributes.dx]\nkind = "category"\nvalues = {values}\ntaxonomy = "{text}"'


def by_prefix(text: str, values: tuple[str, ...] = CODES) -> Schema:
    return Schema.from_toml(BY_PREFIX.format(values=list(values), text=text))


def test_values_that_begin_alike_are_a_group() -> None:
    dx = by_prefix("prefix:1,3")["dx"]
    assert dx.levels == 3
    assert dx.view_labels(Axis("dx", 1)) == ("E11", "E10", "I10", "I21", "J45")
    assert dx.view_map(Axis("dx", 1)).tolist() == [0, 0, 1, 2, 3, 4]
    assert dx.view_labels(Axis("dx", 2)) == ("E", "I", "J")
    assert dx.view_map(Axis("dx", 2)).tolist() == [0, 0, 0, 1, 1, 2]


def test_a_prefix_that_is_a_value_too_names_its_group_with_a_star() -> None:
    dx = by_prefix("prefix:3", ("E11", "E11.9", "I10"))["dx"]
    assert dx.view_labels(Axis("dx", 1)) == ("E11*", "I10")


def test_lengths_that_group_nothing_are_left_out_and_the_file_keeps_its_words() -> None:
    from understudy.schema.files import schema_from_dict

    schema = by_prefix("prefix:1,2,3,9")
    assert schema["dx"].levels == 4  # E11, E1, E; nine characters tell all apart
    assert schema.as_json()["attributes"]["dx"]["taxonomy"] == "prefix:1,2,3,9"
    assert schema_from_dict(schema.as_json()) == schema


@pytest.mark.parametrize("text", ["prefix:", "prefix:0", "prefix:a", "suffix:1", "prefix:1;3", "prefix:-1", "prefix:9"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="taxonomy"):
        by_prefix(text)


def test_groups_by_prefix_are_explained() -> None:
    taxonomy = by_prefix("prefix:1,3")["dx"].taxonomy
    assert taxonomy is not None
    assert taxonomy.explained == "6 values in 5 groups (E11, E10, I10, …), then 3 groups (E, I, J)"


def test_a_name_that_no_group_by_prefix_has_is_none() -> None:
    dx = by_prefix("prefix:1")["dx"]
    assert codes_named(dx, "no such group") is None
    assert codes_named(dx, CODES[0][:1]) is not None
