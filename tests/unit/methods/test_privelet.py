"""Privelet: what it covers, the public rule, what it spends, and what it refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from conftest import private_table
from understudy.errors import TooLarge, UsageError
from understudy.methods.method import configured
from understudy.methods.privelet import Privelet
from understudy.methods.privelet.rule import decide
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.budget import Budget
from understudy.publishing import publish
from understudy.query.queries import Query
from understudy.release import Release
from understudy.schema import Attribute, Axis, Categories, Identifier, Intervals, Schema

LONG = Attribute("salary", Intervals("integer", tuple(range(2001))))
AGE = Attribute("age", Intervals("integer", tuple(range(81))))
SEX = Attribute("sex", Categories(("F", "M")))
JOB = Attribute("job", Categories(tuple(map(str, range(300)))))
ROWS = 400


def public(*attributes: Attribute, neighbours: str = "replace-one") -> Schema:
    rows = ROWS if neighbours == "replace-one" else None
    return Schema("people", attributes, rows=rows, neighbours=neighbours)  # type: ignore[arg-type]


def codes(schema: Schema) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    return {
        a.name: generator.integers(0, a.size, ROWS).astype(np.uint8 if a.size <= 256 else np.uint16)
        for a in schema.modelled
    }


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_whole_budget_is_spent_once(ledger_path: Path, neighbours: str, delta: float) -> None:
    schema = public(AGE, SEX, neighbours=neighbours)
    table = private_table(schema, codes(schema), Budget(1, delta), ledger_path)
    fit = Privelet().fit(table)
    charges = table.reservation.charges()  # type: ignore[attr-defined]
    assert [c["purpose"] for c in charges] == ["coefficients"]
    assert Fraction(charges[0]["cost"]) == table.total_cost
    assert fit.model.project(["age", "sex"]).total == pytest.approx(1)
    assert fit.rows == ROWS or neighbours == "add-remove"
    assert [p.name for p in Privelet().plan(schema, Budget(1, delta), ROWS).phases] == ["coefficients"]


def test_only_what_is_covered_is_published_and_the_card_says_so(ledger_path: Path) -> None:
    schema = public(Attribute("id", Identifier()), AGE, SEX, LONG)
    method = configured(Privelet, {"attributes": "salary, age"})
    fit = method.fit(private_table(schema, codes(schema), Budget(1), ledger_path))
    assert fit.model.schema.names == ("age", "salary")  # the schema's order
    assert fit.facts["transforms"].keys() == {"age", "salary"}
    assert any("only age, salary published; the other 1 " in note for note in fit.notes)
    assert configured(Privelet, {"attributes": ["age", "sex"]}) == Privelet(attributes="age,sex")


def test_all_attributes_keep_the_ids_beside_them(ledger_path: Path) -> None:
    schema = public(Attribute("id", Identifier()), AGE, SEX)
    fit = Privelet().fit(private_table(schema, codes(schema), Budget(1), ledger_path))
    assert fit.model.schema == schema


def kinds(*attributes: Attribute, accounting: str = PURE, transform: str = "auto") -> tuple[str, ...]:
    schema = public(*attributes)
    axes = tuple(Axis(a.name) for a in attributes)
    return decide(schema, axes, accounting, "tight", transform).kinds  # type: ignore[arg-type]


def test_the_rule_between_haar_and_plain() -> None:
    """With the public total used for both, Haar pays from about 800 values under pure epsilon, far earlier under zCDP."""
    assert kinds(AGE) == ("plain",)
    assert kinds(LONG) == ("haar",)
    assert kinds(AGE, accounting=ZCDP) == ("haar",)
    assert kinds(SEX, LONG) == ("plain", "haar")
    assert kinds(SEX, AGE, transform="wavelet") == ("plain", "haar")
    assert kinds(LONG, transform="plain") == ("plain",)


def test_the_tight_form_has_less_noise_than_the_published_one(ledger_path: Path) -> None:
    schema = public(LONG)
    scales = [
        Privelet(form=form, transform="wavelet").plan(schema, Budget(1)).phases[0].scale
        for form in ("tight", "published")
    ]
    assert scales[0] < scales[1]


def test_the_plan_says_what_was_chosen() -> None:
    text = Privelet(attributes="sex,salary").plan(public(AGE, SEX, LONG), Budget(1)).text()
    assert "salary by Haar wavelets (2,000 values)" in text and "sex by plain counts (2 values)" in text
    assert "only sex, salary published" in text


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ("job", "job has 300 values in no order and no taxonomy"),
        ("", "privelet covers one to 4 attributes, and this schema has 5"),
        ("age,sex,salary,job,years", "5 were asked for"),
        ("age,age", "twice"),
        ("agge", "Did you mean 'age'"),
        ("id", "id cannot be covered"),
    ],
)
def test_what_it_cannot_cover_is_refused_in_the_plan(attributes: str, words: str) -> None:
    years = Attribute("years", Intervals("integer", tuple(range(11))))
    schema = public(AGE, SEX, LONG, JOB, years, Attribute("id", Identifier()))
    with pytest.raises(UsageError, match=words):
        Privelet(attributes=attributes).plan(schema, Budget(1))


def test_a_product_that_is_too_large_is_named_before_it_is_allocated() -> None:
    wide = [Attribute(n, Intervals("integer", tuple(range(5001)))) for n in "ab"]
    with pytest.raises(TooLarge, match="a × b = 5,000 × 5,000 is 25,000,000 cells"):
        Privelet().plan(public(*wide), Budget(1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("count where 45 <= age < 30", "the bounds are reversed"),
        ("count where age > 500", "no value of age is > 500"),
        ("count where salary < 10", "there is no attribute 'salary'"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Query.of_text(text, public(AGE, SEX), ROWS)


# -- a release -----------------------------------------------------------------------------------------------------


@pytest.mark.costly
def test_a_release_has_the_covered_columns_and_answers_with_a_standard_error(tmp_path: Path) -> None:
    schema = public(Attribute("id", Identifier()), AGE, SEX, LONG)
    generator = np.random.default_rng(2)
    table = pa.table(
        {
            "salary": generator.integers(0, 2000, ROWS),
            "id": np.arange(ROWS),
            "sex": generator.choice(["F", "M"], ROWS),
            "age": generator.integers(0, 80, ROWS),
        }
    )
    release = publish(table, schema, epsilon=1, method="privelet", ledger=tmp_path / "l.db", attributes="age,salary")
    release.save(tmp_path / "r.zip")
    again = Release.open(tmp_path / "r.zip")
    assert again.columns == ("salary", "age")  # the file's order
    assert again.sample(7, seed=1).shape == (7, 2)
    asked = "count where 30 <= age < 45 and salary >= 500"
    assert again.query(asked).as_json() == release.query(asked).as_json()
    assert again.query(asked).stderr > 0  # type: ignore[operator]
    assert "only age, salary published" in again.summary()
    with pytest.raises(UsageError, match="no attribute 'sex'"):
        again.query("count by sex")
