"""The junction tree against brute force over the full joint distribution."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from understudy.errors import TooLarge, UsageError
from understudy.models.factor import Factor
from understudy.models.junction_tree import JunctionTree
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema

SHAPES = {
    "chain": ["ab", "bc", "cd", "de"],
    "tree": ["ab", "ac", "bd", "be"],
    "star": ["ab", "ac", "ad", "ae"],
    "cycle": ["ab", "bc", "cd", "de", "ea"],
    "two cycles": ["ab", "bc", "ca", "cd", "de", "ec"],
    "disconnected": ["ab", "de"],
    "one clique": ["abcde"],
    "repeated": ["ab", "ba", "a", "abc", "cab", "de"],
    "single": ["a", "b"],
    "nothing": [],
}
SIZES = dict(zip("abcde", (2, 3, 4, 2, 3)))


def schema_of(sizes: dict[str, int], rows: int = 1000) -> Schema:
    values = {name: Categories(tuple(f"v{i}" for i in range(size))) for name, size in sizes.items()}
    return Schema("test", tuple(Attribute(name, domain) for name, domain in values.items()), rows=rows)


def random_logs(shape: str, seed: int = 0, zeros: float = 0.0) -> list[Factor]:
    chance = np.random.default_rng(seed)
    logs = []
    for names in SHAPES[shape]:
        table = chance.normal(0, 2, [SIZES[n] for n in names])
        gone = chance.random(table.shape) < zeros
        gone.flat[0] = False  # one row is always possible
        table[gone] = -np.inf
        logs.append(Factor(tuple(Axis(n) for n in names), table))
    return logs


def joint_of(logs: list[Factor], sizes: dict[str, int]) -> Factor:
    """The whole distribution, one cell for each possible row."""
    axes = tuple(Axis(name) for name in sizes)
    table = np.zeros(tuple(sizes.values()))
    for log in logs:
        table = table + log.expand(axes)
    weights = np.exp(table - table.max())
    return Factor(axes, weights / weights.sum())


def subsets(names: str, most: int = 5):
    return [s for k in range(most + 1) for s in itertools.permutations(names, k) if k < 3 or list(s) == sorted(s)]


@pytest.mark.parametrize("zeros", [0.0, 0.15])
@pytest.mark.parametrize("shape", SHAPES)
def test_project_agrees_with_the_joint(shape: str, zeros: float) -> None:
    logs = random_logs(shape, zeros=zeros)
    model, joint = JunctionTree.of(schema_of(SIZES), logs), joint_of(logs, SIZES)
    for names in subsets("abcde"):
        expected = joint.project([Axis(n) for n in names])
        found = model.project(names)
        assert found.axes == expected.axes
        np.testing.assert_allclose(found.table, expected.table, atol=1e-12)
        assert (found.table[expected.table == 0] == 0).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_neighbours_agree_on_their_separator(shape: str) -> None:
    model = JunctionTree.of(schema_of(SIZES), random_logs(shape))
    for i, parent in enumerate(model.layout.parent):
        shared = model.layout.separators[i]
        assert model.belief(i).total == pytest.approx(1)
        if parent >= 0:
            np.testing.assert_allclose(
                model.belief(i).project(shared).table, model.belief(int(parent)).project(shared).table, atol=1e-12
            )


@pytest.mark.parametrize("shape", SHAPES)
def test_condition_agrees_with_the_joint(shape: str) -> None:
    logs = random_logs(shape)
    model, joint = JunctionTree.of(schema_of(SIZES), logs), joint_of(logs, SIZES)
    for evidence in ({"a": [1]}, {"c": [0, 3], "e": [2]}, {"a": [0], "b": [0, 1, 2], "d": [1]}):
        table = joint.table.copy()
        for name, codes in evidence.items():
            gone = [c for c in range(SIZES[name]) if c not in codes]
            np.moveaxis(table, "abcde".index(name), 0)[gone] = 0
        expected = Factor(joint.axes, table / table.sum())
        given = model.condition(evidence)
        for names in subsets("abcde", 3):
            wanted = expected.project([Axis(n) for n in names])
            np.testing.assert_allclose(given.project(names).table, wanted.table, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_clique_tables_in_any_order_give_the_tree_back(shape: str) -> None:
    model = JunctionTree.of(schema_of(SIZES), random_logs(shape))
    tables = [model.belief(i) for i in reversed(range(len(model.cliques)))]
    turned = [table.project(tuple(reversed(table.axes))) for table in tables]
    again = JunctionTree.of_beliefs(model.schema, turned)
    np.testing.assert_allclose(again.project("edcba").table, model.project("edcba").table, atol=1e-12)


def test_tables_that_are_no_junction_tree_are_refused() -> None:
    model = JunctionTree.of(schema_of(SIZES), random_logs("chain"))
    cycle = [model.project(pair) for pair in ("ab", "bc", "cd", "de", "ea")]
    with pytest.raises(ValueError, match="triangulated"):
        JunctionTree.of_beliefs(model.schema, cycle)
    with pytest.raises(ValueError, match="triangulated"):
        JunctionTree.of_beliefs(model.schema, cycle[:2])


def test_extreme_potentials_do_not_overflow() -> None:
    logs = [Factor(f.axes, 4000 * f.table) for f in random_logs("cycle")]
    model, joint = JunctionTree.of(schema_of(SIZES), logs), joint_of(logs, SIZES)
    np.testing.assert_allclose(model.project("abcde").table, joint.table, atol=1e-9)


def test_impossible_and_wrong_evidence_is_refused() -> None:
    model = JunctionTree.of(schema_of(SIZES), random_logs("chain"))
    with pytest.raises(UsageError, match="no combination"):
        model.condition({"a": []})
    with pytest.raises(UsageError, match="codes 0 to 1"):
        model.condition({"a": [2]})
    with pytest.raises(UsageError, match="no attribute"):
        model.condition({"nope": [0]})
    with pytest.raises(UsageError, match="twice"):
        model.project(["a", "a"])


def test_views_are_sums_of_the_attribute() -> None:
    age = Attribute("age", Intervals("number", tuple(float(i) for i in range(9))))
    sex = Attribute("sex", Categories(("f", "m")))
    schema = Schema("test", (age, sex), rows=10)
    table = np.random.default_rng(0).normal(size=(8, 2))
    model = JunctionTree.of(schema, [Factor((Axis("age"), Axis("sex")), table)])
    whole = model.project(["age", "sex"]).table
    for axis in (Axis("age", 1), Axis("age", 2), Axis("age", bit=1), Axis("age", bit=0, gray=True)):
        group = schema.view_map(axis)
        expected = np.array([whole[group == g].sum(0) for g in range(schema.size(axis))])
        np.testing.assert_allclose(model.project([axis, "sex"]).table, expected)


# -- size ----------------------------------------------------------------------------------------------------


def test_a_table_above_the_limit_is_refused_before_it_is_made() -> None:
    sizes = {f"x{i:02}": 10 for i in range(30)}
    pairs = [(f"x{i:02}", f"x{i + 1:02}") for i in range(29)]
    model = JunctionTree.of(schema_of(sizes), [Factor((Axis(a), Axis(b)), np.zeros((10, 10))) for a, b in pairs])
    tracemalloc.start()
    with pytest.raises(TooLarge, match="cells"):
        model.project([f"x{i:02}" for i in range(12)])
    with pytest.raises(TooLarge):
        model.project(["x00", "x15", "x29"], limit=999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert model.project(["x00", "x15", "x29"]).total == pytest.approx(1)


def test_a_model_above_the_limit_is_refused_before_it_is_made() -> None:
    sizes = {f"x{i:02}": 10 for i in range(14)}
    pairs = [Factor((Axis(a), Axis(b)), np.zeros((10, 10))) for a, b in itertools.combinations(sizes, 2)]
    tracemalloc.start()
    with pytest.raises(TooLarge, match="100,000,000,000,000"):
        JunctionTree.of(schema_of(sizes), pairs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


# -- sampling ------------------------------------------------------------------------------------------------


def chi_squared(rows: dict[str, np.ndarray], joint: Factor) -> float:
    """The chance of rows at least as far from the distribution as these, were they independent draws."""
    shape = joint.table.shape
    cells = np.ravel_multi_index([rows[axis.attribute] for axis in joint.axes], shape)
    counts, expected = np.bincount(cells, minlength=joint.table.size), joint.table.ravel() * len(cells)
    assert not counts[expected == 0].any()
    rare = expected < 5
    seen = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    return float(stats.chi2.sf(((seen - wanted)[wanted > 0] ** 2 / wanted[wanted > 0]).sum(), (wanted > 0).sum() - 1))


def draw_often(model: JunctionTree, rounding: str) -> dict[str, np.ndarray]:
    """Many small samples: a systematic bias would add up, the variance does not help it."""
    generator = np.random.default_rng(1)
    parts = [model.sample(97, generator, rounding) for _ in range(300)]  # type: ignore[arg-type]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize("rounding", ["systematic", "multinomial"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_follow_the_distribution(shape: str, rounding: str) -> None:
    logs = random_logs(shape, seed=2, zeros=0.1)
    rows = draw_often(JunctionTree.of(schema_of(SIZES), logs), rounding)
    assert chi_squared(rows, joint_of(logs, SIZES)) > 1e-4


def test_the_distribution_test_catches_a_broken_sampler() -> None:
    logs = random_logs("cycle", seed=2)
    bent = [Factor(f.axes, 0.9 * f.table) for f in logs]
    rows = draw_often(JunctionTree.of(schema_of(SIZES), bent), "systematic")
    assert chi_squared(rows, joint_of(logs, SIZES)) < 1e-6


def test_multinomial_rows_are_not_too_even() -> None:
    logs = random_logs("chain", seed=3)
    rows = draw_often(JunctionTree.of(schema_of(SIZES), logs), "multinomial")
    assert chi_squared(rows, joint_of(logs, SIZES)) < 1 - 1e-4


def test_systematic_rounding_is_within_one_row_in_the_root() -> None:
    model = JunctionTree.of(schema_of(SIZES), random_logs("tree", seed=4))
    rows = model.sample(1003, np.random.default_rng(0))
    root = model.belief(0)
    cells = np.ravel_multi_index([rows[axis.attribute] for axis in root.axes], root.table.shape)
    counts = np.bincount(cells, minlength=root.table.size)
    assert (np.abs(counts - 1003 * root.table.ravel()) < 1).all()


def test_rows_come_in_random_order_and_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.models.rounding.CHUNK", 1000)
    logs = random_logs("star", seed=5)
    model = JunctionTree.of(schema_of(SIZES), logs)
    rows = model.sample(9500, np.random.default_rng(0))
    assert all(len(column) == 9500 and column.dtype == np.uint8 for column in rows.values())
    first, second = rows["a"][:4000].mean(), rows["a"][4000:].mean()
    assert abs(first - second) < 0.05
    assert abs(np.corrcoef(rows["a"][:-1], rows["a"][1:])[0, 1]) < 0.05
    assert chi_squared(rows, joint_of(logs, SIZES)) > 1e-4


def test_no_rows_is_no_rows() -> None:
    rows = JunctionTree.of(schema_of(SIZES), random_logs("chain")).sample(0, np.random.default_rng(0))
    assert {name: len(column) for name, column in rows.items()} == dict.fromkeys("abcde", 0)


# -- digits --------------------------------------------------------------------------------------------------


def digits_model(gray: bool) -> tuple[JunctionTree, np.ndarray]:
    """Two attributes of 5 and 4 values, written in binary; the tables cross the attributes' borders."""
    schema = schema_of({"a": 5, "b": 4})
    a, b = ([Axis(name, bit=i, gray=gray) for i in range(schema[name].bits)] for name in "ab")
    chance = np.random.default_rng(0)
    logs = [
        Factor(axes, chance.normal(size=[2] * len(axes)))
        for axes in ((a[0], a[1]), (a[1], b[0]), (a[2], b[1]), (b[0],))
    ]
    joint = np.zeros((5, 4))
    for i, j in np.ndindex(5, 4):
        code = {axis: schema.view_map(axis)[i] for axis in a} | {axis: schema.view_map(axis)[j] for axis in b}
        joint[i, j] = sum(log.table[tuple(code[axis] for axis in log.axes)] for log in logs)
    weights = np.exp(joint)
    return JunctionTree.of(schema, logs), weights / weights.sum()


@pytest.mark.parametrize("gray", [False, True])
def test_digits_are_put_together_into_codes(gray: bool) -> None:
    model, joint = digits_model(gray)
    np.testing.assert_allclose(model.project(["a", "b"]).table, joint, atol=1e-12)
    np.testing.assert_allclose(model.project(["b"]).table, joint.sum(0), atol=1e-12)
    np.testing.assert_allclose(model.project(["b", "a"]).table, joint.T, atol=1e-12)
    bit = Axis("a", bit=1, gray=gray)
    expected = [joint[model.schema.view_map(bit) == digit].sum() for digit in (0, 1)]
    np.testing.assert_allclose(model.project([bit]).table, expected, atol=1e-12)


@pytest.mark.parametrize("gray", [False, True])
def test_digits_condition_and_sample_as_codes(gray: bool) -> None:
    model, joint = digits_model(gray)
    given = joint[[0, 3]][:, [1, 2, 3]]
    found = model.condition({"a": [0, 3], "b": [1, 2, 3]}).project(["a", "b"]).table
    np.testing.assert_allclose(found[[0, 3]][:, [1, 2, 3]], given / given.sum(), atol=1e-12)
    assert chi_squared(draw_often(model, "systematic"), Factor((Axis("a"), Axis("b")), joint)) > 1e-4
