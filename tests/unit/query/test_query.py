"""Queries against brute force over the full joint: every cell of the model split into the values it decodes to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from understudy.errors import TooLarge, UsageError
from understudy.models.bayesian_network import BayesianNetwork, Conditional
from understudy.models.junction_tree import JunctionTree
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.query.answer_text import comparison_text, shown_number
from understudy.query.answers import Comparison
from understudy.query.grammar import parse
from understudy.query.queries import MAX_GROUPS, Answer, Figure, Query, answer
from understudy.schema import Attribute, Axis, Booleans, Categories, Intervals, Schema, Taxonomy

ROWS = 1000
REGIONS = Categories(("Anders", "Brae", "Galt", "O'Neill", "Tarn"))
GROUPS = {"North": {"Coast": ["Anders", "Brae"], "Lakes": ["Galt"]}, "South": {"Hills": ["O'Neill", "Tarn"]}}
EPOCH = date(1970, 1, 1)


def schema(rows: int | None = ROWS) -> Schema:
    days = tuple(float((date(2024, 1, d) - EPOCH).days) for d in (1, 8, 9, 20))
    return Schema(
        "test",
        (
            Attribute("age", Intervals("integer", (16, 18, 25, 26, 33.5, 40), points=(20, 33)), missing=("", "999")),
            Attribute("amount of money", Intervals("number", (0, 2, 5, 10), points=(0, 3))),
            Attribute("region", REGIONS, Taxonomy.of_groups(GROUPS, REGIONS), missing=("unknown",)),
            Attribute("flag", Booleans(("Y",), ("N",))),
            Attribute("day", Intervals("date", days), other="missing"),
        ),
        rows=rows,
        neighbours="replace-one" if rows else "add-remove",
    )


SCHEMA = schema()


def network(seed: int = 0) -> BayesianNetwork:
    """age → amount → region ← age@1; flag ← region@1; day ← age, flag."""
    chance = np.random.default_rng(seed)
    parents = {
        "age": (),
        "amount of money": (Axis("age"),),
        "region": (Axis("amount of money"), Axis("age", 1)),
        "flag": (Axis("region", 1),),
        "day": (Axis("age"), Axis("flag")),
    }
    conditionals = []
    for name, above in parents.items():
        table = chance.gamma(0.7, size=SCHEMA.sizes((*above, Axis(name))))
        conditionals.append(Conditional(Axis(name), above, table / table.sum(axis=-1, keepdims=True)))
    return BayesianNetwork(SCHEMA, tuple(conditionals))


def joint(model: BayesianNetwork) -> np.ndarray:
    """One cell for each possible coded row, by the chain rule."""
    names = list(SCHEMA.names)
    codes = dict(zip(names, np.indices([SCHEMA[n].size for n in names])))
    table = np.ones(codes["age"].shape)
    for c in model.conditionals:
        at = tuple(SCHEMA.view_map(axis)[codes[axis.attribute]] for axis in (*c.parents, c.child))
        table = table * c.table[at]
    return table


@dataclass
class Atoms:
    """The values an attribute's cells decode to, one by one: code, value (None: missing) and chance inside the cell."""

    codes: list[int]
    values: list[Any]
    chances: list[float]


def atoms(attribute: Attribute) -> Atoms:
    found = Atoms([], [], [])
    for code in range(attribute.size):
        values = cell_values(attribute, code)
        found.codes += [code] * len(values)
        found.values += values
        found.chances += [1 / len(values)] * len(values)
    return found


def cell_values(attribute: Attribute, code: int) -> list[Any]:
    domain = attribute.domain
    if attribute.has_missing and code == attribute.missing_code:
        return [None]
    if not isinstance(domain, Intervals):
        return [attribute.labels[code]]
    low, high = domain.bounds(code)
    if low == high:
        return [low]
    if domain.integral:
        return [v for v in range(int(low), int(high) + 1) if v not in domain.points]
    steps = round((high - low) / 0.25)  # all cuts of the test are multiples of a quarter
    return [low + 0.25 * (i + 0.5) for i in range(steps)]


ATOMS = {a.name: atoms(a) for a in SCHEMA.attributes}
TESTS = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip
MEMBERS = {
    "North": {"Anders", "Brae", "Galt"}, "South": {"O'Neill", "Tarn"}, "Coast": {"Anders", "Brae"}, "Lakes": {"Galt"},
    "Hills": {"O'Neill", "Tarn"}, **{v: {v} for v in REGIONS.values},
}  # fmt: skip


def written(name: str) -> str:
    return f'"{name}"' if " " in name else name


def some_number(name: str, chance: np.random.Generator) -> tuple[str, float]:
    if name == "age":
        value = int(chance.integers(17, 40))
        return str(value), value
    if name == "day":
        day = date(2024, 1, 1) + timedelta(days=int(chance.integers(1, 18)))
        return str(day), (day - EPOCH).days
    value = float(chance.integers(1, 39)) / 4
    return str(value), value


def number_condition(name: str, chance: np.random.Generator) -> tuple[str, Any]:
    kind = chance.integers(4)
    (one, low), (two, high) = sorted([some_number(name, chance) for _ in range(2)], key=lambda pair: pair[1])
    if kind == 0 or low == high:
        op = str(chance.choice([o for o in TESTS if name != "amount of money" or o not in ("=", "!=")]))
        return f"{written(name)} {op} {one}", lambda v: v is not None and TESTS[op](v, low)
    if kind == 1:
        return f"{one} <= {written(name)}  <{two}", lambda v: v is not None and low <= v < high
    if kind == 2:
        return f"{written(name)} BETWEEN '{one}' and {two}", lambda v: v is not None and low <= v <= high
    if name == "amount of money":
        return f"{two} > {written(name)} >= {one}", lambda v: v is not None and low <= v < high
    return f"{written(name)} in ({one}, {two}, 'missing')", lambda v: v is None or v in (low, high)


def word_condition(name: str, chance: np.random.Generator) -> tuple[str, Any]:
    if name == "flag":
        op, value = chance.choice(["=", "!="]), chance.choice(["Y", "N"])
        return f"flag {op} {value}", lambda v: TESTS[str(op)](v, value)
    one, two = (str(g) for g in chance.choice(sorted(MEMBERS), 2))
    quoted = [("'" + g.replace("'", "''") + "'") for g in (one, two)]
    if chance.random() < 0.5:
        return f"region In ( {quoted[0]},{quoted[1]})", lambda v: v in MEMBERS[one] | MEMBERS[two]
    if chance.random() < 0.5:
        return f"region = {quoted[0]}", lambda v: v in MEMBERS[one]
    return f"region != {quoted[0]}", lambda v: v is not None and v not in MEMBERS[one]


def some_condition(chance: np.random.Generator) -> tuple[str, str, Any]:
    name = str(chance.choice(list(SCHEMA.names)))
    if chance.random() < 0.1:
        return name, f"{written(name)} IS missing", lambda v: v is None
    if chance.random() < 0.1:
        return name, f"{written(name)} is not Missing", lambda v: v is not None
    maker = word_condition if name in ("flag", "region") else number_condition
    return (name, *maker(name, chance))


def some_query(chance: np.random.Generator) -> tuple[str, str, str | None, list[str], list[tuple[str, Any]]]:
    measure, of = [("count", None), ("Share", None), ("mean", "age"), ("MEAN", "amount of money")][chance.integers(4)]
    by = [str(n) for n in chance.permutation(list(SCHEMA.names))[: chance.integers(0, 4)]]
    where = [some_condition(chance) for _ in range(chance.integers(0, 4))]
    text = f"{measure}({written(of)})" if of else measure
    text += f" by {', '.join(map(written, by))}" if by else ""
    text += f" where {' and '.join(said for _, said, _ in where)}" if where else ""
    return text, measure.lower(), of, by, [(name, holds) for name, _, holds in where]


def brute_force(full: np.ndarray, measure: str, of: str | None, by: list[str], where: list[tuple[str, Any]]) -> dict:
    """The full joint over atoms, weighed one attribute at a time by whether the atom meets every condition."""
    names = list(SCHEMA.names)
    total = full
    mass = full
    for i, name in enumerate(names):
        own = ATOMS[name]
        through = np.zeros(SCHEMA[name].size)
        value = np.zeros(SCHEMA[name].size)
        for code, v, chance in zip(own.codes, own.values, own.chances):
            if all(holds(v) for asked, holds in where if asked == name) and not (name == of and v is None):
                through[code] += chance
                value[code] += chance * (v if name == of else 1)
        shape = [-1 if j == i else 1 for j in range(len(names))]
        mass, total = mass * through.reshape(shape), total * value.reshape(shape)
    gone = tuple(i for i, name in enumerate(names) if name not in by)
    kept = [name for name in names if name in by]
    mass, total = (np.transpose(t.sum(axis=gone), [kept.index(n) for n in by]) for t in (mass, total))
    scale = ROWS if measure == "count" else 1
    with np.errstate(invalid="ignore"):
        result = total / mass if measure == "mean" else mass * scale
    labels = [SCHEMA[name].labels for name in by]
    return {tuple(labels[i][c] for i, c in enumerate(at)): result[at] for at in np.ndindex(result.shape)}


def agrees(found: Answer, expected: dict, text: str) -> None:
    shown = {tuple(f.by.values()): f.value for f in found.figures}
    for key, value in expected.items():
        if key in shown and shown[key] is not None:
            assert shown[key] == pytest.approx(value, rel=1e-9, abs=1e-12), text
        else:
            assert not value > 0 or np.isnan(value), text  # a group that is not listed is empty


@pytest.mark.costly
@pytest.mark.parametrize("part", range(4))
def test_a_thousand_queries_against_brute_force(part: int) -> None:
    chance = np.random.default_rng(part)
    model = network(part)
    other = JunctionTree.of(SCHEMA, model.condition({"age": range(SCHEMA["age"].size)}).potentials())
    full = joint(model)
    cut = 0
    for i in range(250):
        text, measure, of, by, where = some_query(chance)
        query = Query.of_text(text, SCHEMA, ROWS)
        expected = brute_force(full, measure, of, by, where)
        found = answer(model, query)
        agrees(found, expected, text)
        if i % 5 == 0:
            agrees(answer(other, query), expected, text)
            agrees(answer(Narrow(model), query), expected, text)
        cut += any("cut" in note for note in found.notes)
        for figure in found.figures:
            assert figure.value is None or figure.value >= 0
    assert cut > 50


@dataclass
class Narrow:
    """A model that refuses tables of more than two attributes, so that conditions must become evidence."""

    model: Any
    refusals = 0

    @property
    def schema(self) -> Schema:
        return self.model.schema

    def project(self, names: Any) -> Any:
        if len(names) > 4:
            raise TooLarge("narrow")
        return self.model.project(names)

    def condition(self, evidence: Any) -> Any:
        return Narrow(self.model.condition(evidence))

    def sample(self, rows: int, generator: np.random.Generator) -> Any:
        raise NotImplementedError


def ask(text: str, **more: Any) -> Answer:
    return answer(network(), Query.of_text(text, SCHEMA, ROWS), **more)


def test_evidence_replaces_a_table_that_is_too_large() -> None:
    text = 'count by flag where age = 20 and "amount of money" = 3 and region = North and day is not missing'
    wide = answer(network(), Query.of_text(text, SCHEMA, ROWS))
    narrow = answer(Narrow(network()), Query.of_text(text, SCHEMA, ROWS))
    assert [f.value for f in narrow.figures] == pytest.approx([f.value for f in wide.figures])
    with pytest.raises(TooLarge, match="narrow"):  # all of these bins are cut, so none is evidence
        cut = 'count by flag, region where age < 23 and "amount of money" < 1 and day < 2024-01-04'
        answer(Narrow(network()), Query.of_text(cut, SCHEMA, ROWS))


def test_too_many_groups_are_refused_before_anything_is_made() -> None:
    wide = Schema("wide", tuple(Attribute(n, Categories(tuple(map(str, range(101))))) for n in "abc"), rows=5)
    with pytest.raises(TooLarge, match=f"1,030,301 groups, the limit is {MAX_GROUPS:,}"):
        answer(None, Query.of_text("count by a, b, c", wide, 5))  # type: ignore[arg-type]


# -- what the words mean -------------------------------------------------------------------------------------


def test_a_cut_bin_is_named_with_its_part() -> None:
    assert ask("count where age < 20").notes == (
        "age: the conditions cut the bin 18..24 (2 of its 6 values); values are taken as uniform inside",
    )
    assert ask('count where "amount of money" < 3.5').notes == (
        "amount of money: the conditions cut the bin [2, 5) (50 % of it); values are taken as uniform inside",
    )
    assert ask("count where age < 18").notes == ()


def test_conditions_on_one_attribute_meet_inside_a_bin() -> None:
    whole = ask("count where age = '18..24'").value
    assert ask("count where age >= 21 and age <= 22").value == pytest.approx(whole * 2 / 6)
    assert ask("count where age in (21, 22, 22)").value == pytest.approx(whole * 2 / 6)
    assert ask("count where age <= 21 and age >= 22").value == 0


def test_missing_values_meet_no_comparison() -> None:
    parts = [ask(f"count where age {c}").value for c in ("= 20", "!= 20", "is missing")]
    assert sum(parts) == pytest.approx(ROWS)
    assert ask("count where age = '999'").value == ask("count where age is missing").value
    assert ask("count where age != missing").value == ask("count where age is not missing").value
    assert ask("count where flag is not missing").notes == ("flag has no missing values in the schema",)


def test_a_mean_of_nothing_is_empty() -> None:
    found = ask("mean(age) where age is missing")
    assert found.value is None
    assert "a mean over no rows is left empty" in found.notes
    point = ask("mean(age) where age = 20")
    assert (point.value, point.notes) == (pytest.approx(20), ())
    assert "uniform inside each bin" in ask("mean(age)").notes[0]


def test_one_number_inside_a_bin_has_no_share() -> None:
    found = ask('count where "amount of money" = 3.5')
    assert (found.value, found.stderr) == (0, None)
    assert "ask for a range" in found.notes[0]


def test_values_beyond_the_range_are_explained() -> None:
    found = ask("count where age <= 120")
    assert "from 16 to 40" in found.notes[0]
    assert found.value == pytest.approx(ask("count where age is not missing").value)


def test_a_group_that_makes_no_level_has_a_name() -> None:
    """The top group holds everything, so no level of the taxonomy shows it."""
    tree = {"All": {"North": ["Anders", "Brae"], "South": ["Galt", "O'Neill", "Tarn"]}}
    attribute = Attribute("region", REGIONS, Taxonomy.of_groups(tree, REGIONS), missing=("",))
    query = Query.of_text("count where region = All", Schema("t", (attribute,), rows=10), 10)
    assert query.selections["region"].weights.tolist() == [1, 1, 1, 1, 1, 0]


def test_booleans_answer_to_true_and_false() -> None:
    assert ask("count where flag = TRUE").value == ask("count where flag = 'Y'").value


# -- standard errors -----------------------------------------------------------------------------------------


def measured(*axes: Axis, scale: float = 10.0) -> Measurement:
    return Measurement(axes, np.zeros(SCHEMA.sizes(axes), dtype=np.int64), Gaussian(scale))


def test_stderr_is_that_of_the_plain_sum() -> None:
    table = measured(Axis("region"), Axis("flag"))
    assert ask("count where region = North", measurements=[table]).stderr == pytest.approx(10 * np.sqrt(3 * 2))
    assert ask("share where region = North", measurements=[table]).stderr == pytest.approx(10 * np.sqrt(6) / ROWS)
    found = ask("count by flag where region in (North, South)", measurements=[table])
    assert [f.stderr for f in found.figures] == pytest.approx([10 * np.sqrt(5)] * 2)
    assert (
        found.stderr_covers
        == "noise of the measured table over region, flag, its cells simply added up; not model error"
    )


def test_stderr_takes_the_coarsest_table_that_the_conditions_do_not_cut() -> None:
    tables = [measured(Axis("region")), measured(Axis("region", 2)), measured(Axis("age"))]
    assert ask("count where region = North", measurements=tables).stderr == pytest.approx(10)
    assert ask("count where region = Coast", measurements=tables).stderr == pytest.approx(10 * np.sqrt(2))
    assert ask("count where region = Galt and age = 20", measurements=tables).stderr is None
    assert ask("count by region", measurements=tables[1:]).stderr_covers is None


def test_stderr_of_a_cut_bin_weighs_its_noise() -> None:
    found = ask("count where age in (21, 22, 23)", measurements=[measured(Axis("age"))])
    assert found.stderr == pytest.approx(10 * 0.5)
    assert found.stderr_covers is not None and "cut bin" in found.stderr_covers


def test_stderr_of_bits_needs_the_bits_that_select() -> None:
    bits = [Axis("age", bit=b) for b in range(SCHEMA["age"].bits)]
    assert ask("count where age = 20", measurements=[measured(*bits)]).stderr == pytest.approx(10)
    assert ask("count where age = 20", measurements=[measured(*bits[:-1])]).stderr is None


def test_stderr_of_every_row_is_known() -> None:
    assert ask("count").stderr == 0
    assert ask("count where flag in (Y, N)").stderr == 0
    open_schema = schema(None)
    count = Measurement((), np.asarray(ROWS), Laplace(5.0))
    found = answer(network(), Query.of_text("count", open_schema, ROWS), [count])
    assert found.stderr == pytest.approx(np.sqrt(count.variance))
    assert found.stderr_covers is not None and "measured row count" in found.stderr_covers


@pytest.mark.parametrize("text", ["mean(age)", "mean(age) where flag = Y and age >= 20"])
def test_stderr_of_a_mean_is_what_noise_does_to_it(text: str) -> None:
    """The plain estimate from a noisy table, drawn many times."""
    chance = np.random.default_rng(1)
    table = joint(network()).sum(axis=(1, 2, 4)) * 100_000  # age × flag
    query = Query.of_text(text, SCHEMA, 100_000)
    age = query.selections["age"]
    flag = query.selections["flag"].weights if "flag" in query.selections else np.ones(2)
    noisy = table + chance.normal(0, 10, (4000, *table.shape))
    means = (noisy @ flag @ age.moments) / (noisy @ flag @ age.present)
    found = answer(network(), query, [measured(Axis("age"), Axis("flag"))])
    assert found.stderr == pytest.approx(means.std(), rel=0.05)


# -- the hook ------------------------------------------------------------------------------------------------


class Knowing(Narrow):
    """A model with an answer of its own to counts."""

    def answer(self, query: Query) -> Answer | None:
        if query.measure != "count":
            return None
        return Answer("count", (), (Figure({}, 42.0, 1.0),), "everything")


def test_a_model_may_answer_for_itself() -> None:
    model = Knowing(network())
    assert answer(model, Query.of_text("count where flag = Y", SCHEMA, ROWS)).value == 42
    share = answer(model, Query.of_text("share where flag = Y", SCHEMA, ROWS))
    assert share.value == pytest.approx(ask("share where flag = Y").value)


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("", "expected `count`, `share`, `rate`, `mean(attribute)`, `sum`, `median` or `quantile`, the query", ""),
        ("cuont by flag", "Did you mean 'count'?", "cuont"),
        ("count by flagg", "there is no attribute 'flagg'. Did you mean 'flag'?", "flagg"),
        ("count by AGE", "Did you mean 'age'?", "AGE"),
        ("count by flag, flag", "flag stands in `by` twice", "flag"),
        ('count by age, flag, region, "amount of money"', "at most 3 attributes", '"amount of money"'),
        ("count by where age > 3", "expected an attribute", "where"),
        ("count flag", "expected `by` or `where` or the end, found 'flag'", "flag"),
        ("count were age > 20", "Did you mean 'where'?", "were"),
        ("count where age", "expected a comparison", ""),
        ("count where age >", "expected a value, the query ends here", ""),
        ("count where age > and", "expected a value", "and"),
        ("count where age > 18 < 20", "the attribute in the middle", "<"),
        ("count where 18 < age > 17", "a chain goes one way", "<"),
        ("count where 30 <= age < 20", "the bounds are reversed: nothing is >= 30 and < 20", "20"),
        ("count where age between 30 and 20", "the bounds are reversed", "20"),
        ("count where 20 < age <= 20", "the bounds are reversed", "20"),
        ("count where age between 30", "expected `and`", ""),
        ("count where age in 20, 30", "expected `(`", "20"),
        ("count where age in (20, 30", "expected `,` or `)`", ""),
        ("count where age is mising", "Did you mean 'missing'?", "mising"),
        ("count where age > 41", "no value of age is > 41: it is declared from 16 to 40", "41"),
        ("count where age = 20.5", "whole numbers only", "20.5"),
        ("count where age > old", "compared with a number, and 'old' is none", "old"),
        ("count where day > 2024-13-01", "compared with a date, and '2024-13-01' is none", "2024-13-01"),
        ("count where region > Anders", "region has no order", "Anders"),
        ("count where region = 'Nort'", "region has no value 'Nort'. Did you mean 'North'?", "'Nort'"),
        ("count where flag = maybe", "flag has no value 'maybe'", "maybe"),
        ("count where region = 'Anders", "this quote is never closed", "'"),
        ("count where region = ‘Anders’", "use straight quotes", "‘"),
        ("count where age > 20; drop", "';' has no meaning", ";"),
        ("mean age", "expected `(` and an attribute", "age"),
        ("mean(region)", "a mean needs numbers, and region is of kind category", "region"),
        ("mean(day)", "a mean needs numbers", "day"),
        ("count where\tage\n> 41", "no value of age", "41"),
    ],
)
def test_an_error_points_at_its_place(text: str, message: str, under: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(text)
    said, line, caret = caught.value.message.split("\n")
    assert message in said
    assert len(line) == len(text) + 2
    start = caret.index("^")
    assert caret.strip() == "^" * max(1, len(under))
    assert text[start - 2 : start - 2 + len(under)] == under
    if not under:
        assert start - 2 == len(text.rstrip())
    elif text.count(under) > 1 and under not in ("or", "<"):
        assert start - 2 == text.rindex(under)


def test_ids_and_long_texts_are_refused() -> None:
    from understudy.schema import Identifier

    with_id = Schema("t", (Attribute("key", Identifier()), *SCHEMA.attributes), rows=3)
    with pytest.raises(UsageError, match="key is not part of the release"):
        Query.of_text("count by key", with_id, 3)
    with pytest.raises(UsageError, match="characters"):
        parse("count where age in (" + "1, " * 5000 + "1)")


def test_attributes_named_like_keywords_are_quoted() -> None:
    question = parse('count by "where", count where "by" = \'and\' and "in" in ("is")')
    assert [word.text for word in question.by] == ["where", "count"]
    equal, member = question.where
    assert (equal.left.word.text, equal.right.word.text, member.term.word.text) == ("by", "and", "in")


def test_where_may_come_before_by() -> None:
    one, two = ask("count by flag where age > 20"), ask("count where age > 20 by flag")
    assert one == two


# -- showing -------------------------------------------------------------------------------------------------


def test_json_and_text() -> None:
    table = measured(Axis("flag"), Axis("age"))
    one = ask("count where flag = Y", measurements=[table])
    assert one.as_json() == {
        "value": one.value, "stderr": one.stderr, "stderr_covers": one.stderr_covers, "notes": [],
    }  # fmt: skip
    many = ask("share by flag where age > 30", measurements=[table])
    document = many.as_json()
    assert [group["by"] for group in document["groups"]] == [{"flag": "N"}, {"flag": "Y"}]
    assert document["notes"] and "bin 26..32" in document["notes"][0]
    lines = str(many).split("\n")
    assert lines[0].split() == ["flag", "share", "stderr"]
    assert lines[-1].startswith("note: age: the conditions cut the bin")
    assert "stderr: not known" in str(ask("count where region = Galt"))
    assert "<table" in many._repr_html_()
    with pytest.raises(AttributeError, match="groups"):
        _ = many.value


@pytest.mark.parametrize(("difference", "written"), [(-3e-14, "0"), (-3e-4, "-0.0003")])
def test_the_difference_of_equal_figures_is_written_as_nought(difference: float, written: str) -> None:
    compared = Comparison({"sex": "m"}, {"sex": "f"}, difference, -5.6, 5.6)
    said = f"m minus f: {written} (-5.6 to 5.6): no difference can be shown"
    assert comparison_text(compared, "mean") == said


@pytest.mark.parametrize(
    ("number", "measure", "text"),
    [(3619123456.0, "sum", "3,619,120,000"), (-1.5e9, "mean", "-1,500,000,000"), (20873.54, "mean", "20,873.5"),
     (0.0000123, "mean", "1.23e-05"), (None, "sum", "-")],
)  # fmt: skip
def test_large_numbers_are_written_out_to_six_digits(number, measure, text):
    assert shown_number(number, measure) == text
