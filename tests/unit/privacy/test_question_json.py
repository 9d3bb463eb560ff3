"""Questions read back from JSON: all that methods ask survives, and nothing else is accepted."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from conftest import schema_of
from understudy.demo import demo_schema
from understudy.errors import TooLarge, UsageError
from understudy.privacy.accounting import PURE
from understudy.privacy.question_json import fraction_from_json, query_from_json, selection_from_json
from understudy.privacy.questions import (
    AllPairScores,
    Choice,
    ChooseChild,
    ChooseEdge,
    FineDetails,
    HadamardBlocks,
    Marginals,
    WaveletTable,
)
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, REFERENCE_DISTANCE, Pair
from understudy.schema import Axis

SCHEMA = demo_schema(rows=1000)
AGE, SEX, REGION = Axis("age"), Axis("sex"), Axis("region")


@pytest.mark.parametrize(
    "question",
    [
        Choice([Pair(SEX, (AGE,)), Pair(REGION), Pair(SEX, (Axis("region", 1), AGE))], INDEPENDENCE, [1, -2, 2**61]),
        Choice([Pair(SEX, (Axis("age", 0, 1, True),))], MAXIMUM_JOINT),
        Choice(
            [Pair(SEX), Pair(AGE, (SEX,))],
            REFERENCE_DISTANCE,
            [1, 2],
            [np.array([3, -4]), np.arange(32).reshape(2, 16)],
        ),
        ChooseChild((AGE, SEX), (REGION,), 7),
        ChooseEdge.of(SCHEMA, (AGE, SEX), (REGION,), INDEPENDENCE, 7, 100, True),
    ],
)
def test_choices_survive(question: Any) -> None:
    again = selection_from_json(json.loads(json.dumps(question.as_json())), SCHEMA)
    assert json.dumps(again.as_json()) == json.dumps(question.as_json())
    assert again.count == question.count
    assert again.sensitivity(SCHEMA) == question.sensitivity(SCHEMA)


@pytest.mark.parametrize(
    "question",
    [
        Marginals.of([(AGE, SEX), (REGION,), ()], [Fraction(1, 3), Fraction(1, 7), Fraction(1, 9)]),
        HadamardBlocks([(AGE, SEX), (REGION,)]),
        WaveletTable((AGE, SEX), ("haar", "plain"), "published"),
        FineDetails("income", 2),
    ],
)
def test_vectors_survive(question: Any) -> None:
    again = query_from_json(json.loads(json.dumps(question.as_json())), SCHEMA)
    assert json.dumps(again.as_json()) == json.dumps(question.as_json())
    assert again.noise_blocks(SCHEMA, PURE, Fraction(1)) == question.noise_blocks(SCHEMA, PURE, Fraction(1))


AXIS = ["age", 0, -1, False]


@pytest.mark.parametrize(
    "data",
    [
        None, [], {}, "choice", [["choice"]], ["nothing"], ["tables"], ["scores", [AXIS]], ["figure", "x"],
        ["choice", [], "R", None, None],
        ["choice", [[AXIS]], "Q", None, None],
        ["choice", [[AXIS]], ["R"], None, None],
        ["choice", [[AXIS]], "R", None, [[1, 2]]],
        ["choice", [[AXIS]], "D", None, None],
        ["choice", [[AXIS]], "D", None, [[1, 2]]],
        ["choice", [[AXIS]], "D", None, [[0.5] * 16]],
        ["choice", [[AXIS]], "D", None, [[True] * 16]],
        ["choice", [[AXIS]], "D", None, [[2**57] * 16]],
        ["choice", [[AXIS]], "D", None, [[2**70] * 16]],
        ["choice", [[AXIS]], "D", None, [[[1], [2, 3]]]],
        ["choice", [[AXIS]], "D", None, [[1] * 16, [1] * 16]],
        ["choice", [[AXIS]], "D", None, ["x"]],
        ["choice", [[AXIS]], "R", [1.5], None],
        ["choice", [[AXIS]], "R", [2**62], None],
        ["choice", [[AXIS]], "R", [True], None],
        ["choice", [[AXIS]], "R", [1, 2], None],
        ["choice", [[]], "R", None, None],
        ["choice", [[AXIS, AXIS]], "R", None, None],
        ["choice", [[AXIS]], "R", None],
        ["choice", [[AXIS]], "R", None, None, None],
        ["choice", [[["nobody", 0, -1, False]]], "R", None, None],
        ["choice", [[["person_id", 0, -1, False]]], "R", None, None],
        ["choice", [[["age", 99, -1, False]]], "R", None, None],
        ["choice", [[["age", -1, -1, False]]], "R", None, None],
        ["choice", [[["age", 0, 99, False]]], "R", None, None],
        ["choice", [[["age", 1, 1, False]]], "R", None, None],
        ["choice", [[["age", 0, -2, False]]], "R", None, None],
        ["choice", [[["age", False, -1, False]]], "R", None, None],
        ["choice", [[["age", 0, -1, 0]]], "R", None, None],
        ["choice", [["age"]], "R", None, None],
        ["link", [AXIS], [], 0],
        ["link", [AXIS], [["sex", 0, -1, False]], -1],
    ],
)  # fmt: skip
def test_what_is_no_choice_is_refused(data: Any) -> None:
    with pytest.raises(UsageError):
        selection_from_json(data, SCHEMA)


@pytest.mark.parametrize(
    "data",
    [
        ["tables", [[AXIS]], []],
        ["tables", [[AXIS]], ["1", "1"]],
        ["tables", [[AXIS]], ["2"]],
        ["tables", [[AXIS]], ["0"]],
        ["tables", [[AXIS]], ["-1"]],
        ["tables", [[AXIS]], [1]],
        ["tables", [[AXIS]], ["1/0"]],
        ["tables", [], []],
        ["coefficients", []],
        ["wavelet", [AXIS], ["haar", "haar"], "tight"],
        ["wavelet", [AXIS], ["sine"], "tight"],
        ["wavelet", [AXIS], [["haar"]], "tight"],
        ["wavelet", [AXIS], ["haar"], "loose"],
        ["details", "sex", 1],
        ["details", "income", 99],
        ["details", "income", True],
        ["details", "nobody", 1],
        ["details", ["income"], 1],
        ["choice", [[AXIS]], "R", None, None],
        ["scores", [AXIS, ["sex", 0, -1, False]]],
    ],
)  # fmt: skip
def test_what_is_no_vector_is_refused(data: Any) -> None:
    with pytest.raises(UsageError):
        query_from_json(data, SCHEMA)


def test_large_tables_are_refused_before_they_are_made() -> None:
    wide = schema_of({"a": 6000, "b": 6000}, 100)
    ask = [["a", 0, -1, False], ["b", 0, -1, False]]
    with pytest.raises(TooLarge):
        query_from_json(["tables", [ask], ["1"]], wide)
    with pytest.raises(TooLarge):
        selection_from_json(["choice", [ask], "R", None, None], wide)
    with pytest.raises(TooLarge):
        query_from_json(["tables", [[["a", 0, -1, False]]] * 4000, [str(Fraction(1, 4000))] * 4000], wide)


def test_scores_are_written_but_not_read() -> None:
    with pytest.raises(UsageError, match="none of them"):
        query_from_json(json.loads(json.dumps(AllPairScores((AGE, SEX)).as_json())), SCHEMA)


def test_fractions_are_read_as_they_are_written() -> None:
    assert fraction_from_json("22/7") == Fraction(22, 7)
    for text in ("2/4", "0.5", "1e9", " 1", "1_0", "", "x", "1/0", 3, None, "1" * 5000):
        with pytest.raises(UsageError):
            fraction_from_json(text)


@pytest.mark.parametrize("text", ["1e999999999", "1E-999999999", "\u0661", "1_0", " 1", "+1", "0.5", "2/4", "1/-2"])
def test_a_fraction_is_written_in_one_way(text: str) -> None:
    """Refused before it is worked out: 10^999999999 would keep an owner busy for hours."""
    with pytest.raises(UsageError, match="a fraction was expected"):
        fraction_from_json(text)


def test_no_reference_table_slips_past_its_limit() -> None:
    """−2^63 has no absolute value of its own in 64 bits."""
    for cell in (2**60, -(2**60), -(2**63)):
        with pytest.raises(UsageError, match="whole number"):
            selection_from_json(["choice", [[["sex", 0, -1, False]]], "D", None, [[cell, 0]]], SCHEMA)
