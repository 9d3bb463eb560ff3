"""Classifiers: targets, easy and hopeless tables, and the linear ones as integer functions of a row."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import schema_of
from understudy.errors import UsageError
from understudy.evaluate.classification import (
    MODELS,
    Examples,
    classify,
    fit,
    linear_classifier,
    split_rows,
)
from understudy.evaluate.targets import Target
from understudy.privacy.custodian import ExactTable
from understudy.schema import Attribute, Categories, Intervals, Schema, Taxonomy

DEGREES = ("none", "school", "bachelor", "master")


def people(rows: int) -> Schema:
    values = Categories(DEGREES)
    tree = Taxonomy.of_groups({"higher": ["bachelor", "master"]}, values)
    return Schema(
        "t",
        (
            Attribute("degree", values, tree),
            Attribute("years", Intervals("integer", tuple(float(e) for e in range(0, 21, 5)))),
            Attribute("sex", Categories(("f", "m"))),
            Attribute("weight", Categories(tuple("|=" + c for c in "abcdefghijklmnopqrstuvwxyz"))),
        ),
        rows=rows,
    )


def easy(rows: int, seed: int) -> ExactTable:
    """Years of school tell the degree; sex follows a coin."""
    g = np.random.default_rng(seed)
    degree = g.integers(0, 4, rows)
    columns = {"degree": degree, "years": degree, "sex": g.integers(0, 2, rows), "weight": g.integers(0, 26, rows)}
    return ExactTable({n: c.astype(np.uint8) for n, c in columns.items()}, rows, people(rows))


@pytest.mark.costly
def test_an_easy_target_is_learned_from_a_good_stand_in() -> None:
    found = classify(easy(500, 1), easy(400, 2), Target.parse("degree=higher", people(500)))
    assert set(found.synthetic) == set(found.real) == set(MODELS)
    assert max(found.synthetic.values()) == max(found.real.values()) == 0
    assert found.majority == pytest.approx(0.5, abs=0.12)
    assert found.test_rows == 100


def test_a_bad_stand_in_teaches_nothing() -> None:
    """Years drawn anew: the majority's error is all that can be hoped for."""
    real, bad = easy(2000, 1), easy(2000, 2)
    columns = {n: bad.codes(n) for n in people(1).names}
    columns["years"] = np.random.default_rng(9).permutation(columns["years"])
    shuffled = ExactTable(columns, 2000, people(2000))
    found = classify(real, shuffled, Target.parse("degree=master", people(2000)), ["svm", "logistic"])
    assert found.real["svm"] == 0
    assert found.synthetic["svm"] == pytest.approx(found.majority, abs=0.02)


def test_every_value_can_be_a_class() -> None:
    found = classify(easy(500, 1), easy(400, 2), Target.parse("degree", people(500)))
    assert max(found.synthetic.values()) == 0
    assert found.majority == pytest.approx(0.75, abs=0.1)


def test_an_ignored_attribute_is_no_feature() -> None:
    target = Target.parse("degree=higher", people(500), ignore=["years"])
    found = classify(easy(2000, 1), easy(2000, 2), target, ["svm"])
    assert found.real["svm"] > 0.35


def test_a_stand_in_of_one_class_predicts_it() -> None:
    one = easy(400, 2)
    columns = {n: one.codes(n) for n in people(1).names} | {"sex": np.ones(400, dtype=np.uint8)}
    target = Target.parse("sex", people(500))
    found = classify(easy(500, 1), ExactTable(columns, 400, people(400)), target)
    assert len(set(found.synthetic.values())) == 1
    public = linear_classifier(ExactTable(columns, 400, people(400)), target, "svm")
    assert easy(500, 1).errors(public) == int((easy(500, 1).codes("sex") == 0).sum())


def test_the_split_is_public_and_covers_every_row() -> None:
    train, test = split_rows(1000)
    assert (len(train), len(test)) == (800, 200)
    assert sorted([*train, *test]) == list(range(1000))
    assert (split_rows(1000)[0] == train).all() and (split_rows(1000, 1)[0] != train).any()
    with pytest.raises(UsageError, match="too small"):
        classify(easy(1, 1), easy(9, 1), Target.parse("sex", people(1)))


@pytest.mark.parametrize("model", ["svm", "logistic"])
@pytest.mark.parametrize("target", ["degree=higher", "degree", "sex"])
def test_integer_weights_predict_what_the_model_predicts(model: str, target: str) -> None:
    synthetic, real = easy(300, 3), easy(400, 4)
    asked = Target.parse(target, people(300))
    public = linear_classifier(synthetic, asked, model)
    examples = Examples.of(real, asked)
    predicted = fit(model, Examples.of(synthetic, asked)).predict(examples.one_hot)
    assert (public.predict({n: real.codes(n) for n in people(1).names}) == predicted).all()
    assert real.errors(public) == int((predicted != examples.label).sum())


def test_boosting_is_not_linear() -> None:
    with pytest.raises(UsageError, match="no linear classifier"):
        linear_classifier(easy(300, 3), Target.parse("sex", people(300)), "boosting")


def test_one_hot_rows_have_one_one_for_each_attribute() -> None:
    examples = Examples.of(easy(50, 1), Target.parse("sex", people(50)))
    dense = examples.one_hot.toarray()
    assert dense.shape == (50, 4 + 4 + 26)
    assert (dense[:, :4].argmax(1) == easy(50, 1).codes("degree")).all() and (dense.sum(1) == 3).all()
    assert examples.categories == [0, 2]


# -- targets -----------------------------------------------------------------------------------------------------


def test_targets_are_values_bins_and_groups() -> None:
    schema = people(10)
    assert Target.parse("degree=higher", schema).label(schema).tolist() == [0, 0, 1, 1]
    assert Target.parse("degree=none|master", schema).label(schema).tolist() == [1, 0, 0, 1]
    assert Target.parse("years=0..4|15..20", schema).label(schema).tolist() == [1, 0, 0, 1]
    assert Target.parse("weight=|=b", schema).label(schema).nonzero()[0].tolist() == [1]
    assert str(Target.parse("degree=none|master", schema)) == "degree=none|master"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("degre", "Did you mean 'degree'"),
        ("degree=masters", "Did you mean 'master'"),
        ("weight", "more than 20 classes"),
        ("sex=f|m", "every value"),
    ],
)
def test_a_wrong_target_says_what_to_do(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Target.parse(text, people(10))


def test_an_attribute_whose_name_holds_a_sign() -> None:
    schema = schema_of({"a=b": 2, "c": 2}, 10)
    assert Target.parse("a=b", schema) == Target("a=b")


def test_a_name_may_hold_the_sign_that_parts_it_from_its_values() -> None:
    schema = Schema("t", (Attribute("x", Categories(("y=a", "b"))), Attribute("x=y", Categories(("a", "b")))), rows=9)
    assert Target.parse("x=y", schema) == Target("x=y")
    assert Target.parse("x=y=a", schema) == Target("x=y", ("a",))
    assert Target.parse("x=b", schema) == Target("x", ("b",))
    with pytest.raises(UsageError, match="names no value"):
        Target.parse("x=y= ", schema)
