"""Train on synthetic, test on real (Zhang et al. 2017, Section 6.6): one target from all other attributes, one-hot.

The linear SVM is the papers' (C = 1, hinge loss), by liblinear's dual solver; on Adult its objective is within 3 in
100,000 of the optimum after 0.3 s. Logistic regression and gradient boosting stand beside it, with what the same
classifiers reach when trained on real rows (80 %, tested on the other 20 %, split by a public seed) and the majority.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError, import_extra
from understudy.evaluate.tables import SEED
from understudy.evaluate.targets import Target
from understudy.privacy.custodian import CustodianFigures, ExactTable
from understudy.privacy.questions.statistics import LinearClassifier
from understudy.privacy.random_source import seeded_generator
from understudy.schema import Schema

MODELS = ("svm", "logistic", "boosting")
LINEAR = ("svm", "logistic")
TRAIN_SHARE = 0.8
_WEIGHT = 2**24  # weights of a bought classifier are rounded to multiples of 2^-24
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ClassifierErrors(CustodianFigures):
    """Misclassification rates on the real test rows."""

    target: str
    majority: float  # of always saying what most real training rows are
    synthetic: dict[str, float]  # trained on synthetic rows
    real: dict[str, float]  # trained on real rows: no privacy
    test_rows: int
    seed: int

    def as_json(self) -> dict[str, Any]:
        rates = {"synthetic": self.synthetic, "real": self.real, "majority": self.majority}
        return {"target": self.target, **rates, "test_rows": self.test_rows, "seed": self.seed}


def split_rows(rows: int, seed: int = SEED) -> tuple[Integers, Integers]:
    """Return row numbers of the 80 % to train on and of the 20 % to test on: public, from the seed."""
    order = seeded_generator(seed).permutation(rows)
    cut = int(rows * TRAIN_SHARE)
    return np.sort(order[:cut]), np.sort(order[cut:])


def classify(
    original: ExactTable,
    synthetic: ExactTable,
    target: Target,
    models: Sequence[str] = MODELS,
    seed: int = SEED,
) -> ClassifierErrors:
    """Return errors on the same real rows for classifiers trained on either table."""
    real, stand_in = Examples.of(original, target), Examples.of(synthetic, target)
    train, test = split_rows(original.rows(), seed)
    if not len(train) or not len(test):
        raise UsageError("the original table is too small to be split into rows for training and rows for testing")
    learn, check = real.take(train), real.take(test)
    majority = int(np.bincount(learn.label).argmax())
    return ClassifierErrors(
        str(target),
        float((check.label != majority).mean()),
        {model: _error(fit(model, stand_in, seed), model, check) for model in models},
        {model: _error(fit(model, learn, seed), model, check) for model in models},
        len(test),
        seed,
    )


def linear_classifier(synthetic: ExactTable, target: Target, model: str, seed: int = SEED) -> LinearClassifier:
    """Train on the synthetic table and round to integers: a public function, whose errors can be bought."""
    if model not in LINEAR:
        raise UsageError(f"{model!r} is no linear classifier ({', '.join(LINEAR)})")
    examples = Examples.of(synthetic, target)
    schema, classes = synthetic.schema, int(target.label(synthetic.schema).max()) + 1
    weights, bias = _weights(fit(model, examples, seed), classes, examples.width)
    parts = np.split(weights, np.cumsum([schema[n].size for n in examples.names])[:-1]) if examples.names else []
    return LinearClassifier(target.attribute, target.label(schema), dict(zip(examples.names, parts)), bias)


# -- examples ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Examples:
    """Codes of the features and the class of each row."""

    schema: Schema
    names: tuple[str, ...]
    codes: Mapping[str, NDArray[Any]]
    label: Integers

    @staticmethod
    def of(table: ExactTable, target: Target) -> Examples:
        names = tuple(target.features(table.schema))
        if not names:
            raise UsageError(f"there is no attribute left to predict {target.attribute} from")
        label = target.label(table.schema)[table.codes(target.attribute)]
        return Examples(table.schema, names, {n: table.codes(n) for n in names}, label)

    def take(self, rows: Integers) -> Examples:
        return Examples(self.schema, self.names, {n: c[rows] for n, c in self.codes.items()}, self.label[rows])

    @property
    def width(self) -> int:
        return sum(self.schema[n].size for n in self.names)

    @cached_property
    def one_hot(self) -> Any:
        """Return a sparse row of ones, one for each attribute."""
        from scipy.sparse import csr_matrix

        offsets = np.cumsum([0] + [self.schema[n].size for n in self.names])[:-1]
        places = np.stack([self.codes[n].astype(np.int32) + o for n, o in zip(self.names, offsets)], axis=1)
        rows, width = places.shape
        ends = np.arange(0, rows * width + 1, width)
        return csr_matrix((np.ones(rows * width), places.ravel().astype(np.int32), ends), shape=(rows, self.width))

    @cached_property
    def plain(self) -> NDArray[np.float32]:
        """Return the codes themselves: trees cut ordered attributes and group categories."""
        return np.stack([self.codes[n] for n in self.names], axis=1).astype(np.float32)

    @property
    def categories(self) -> list[int]:
        small = [n for n in self.names if self.schema[n].size <= 255]
        return [j for j, n in enumerate(self.names) if n in small and self.schema[n].intervals is None]


# -- models ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstantClassifier:
    """What is learned from rows that are all of one class."""

    label: int

    def predict(self, features: Any) -> Integers:
        return np.full(features.shape[0], self.label, dtype=np.int64)


def fit(model: str, examples: Examples, seed: int = SEED) -> Any:
    """Return a trained classifier."""
    if (examples.label == examples.label[0]).all():
        return ConstantClassifier(int(examples.label[0]))
    untrained = _new(model, examples, seed)
    with warnings.catch_warnings(), _one_thread():
        warnings.simplefilter("ignore")  # the dual solver says so when it stops before its very last digit
        return untrained.fit(_features(model, examples), examples.label)


def _one_thread() -> Any:
    """Use one thread: those of one model wait for each other on a busy machine (boosting on Adult: 21 s, not 1.1)."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _new(model: str, examples: Examples, seed: int) -> Any:
    import_extra("sklearn", "evaluate", "classification needs scikit-learn")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if model == "svm":
        return LinearSVC(loss="hinge", C=1.0, random_state=seed)
    if model == "logistic":
        return LogisticRegression(max_iter=500)
    return HistGradientBoostingClassifier(random_state=seed, categorical_features=examples.categories)


def _features(model: str, examples: Examples) -> Any:
    return examples.plain if model == "boosting" else examples.one_hot


def _error(fitted: Any, model: str, check: Examples) -> float:
    with _one_thread():
        return float((fitted.predict(_features(model, check)) != check.label).mean())


def _weights(fitted: Any, classes: int, width: int) -> tuple[Integers, Integers]:
    """Return weights (features × classes) and biases as integers; a class that was never seen cannot win."""
    weights, bias = np.zeros((width, classes)), np.full(classes, -1e6)
    if isinstance(fitted, ConstantClassifier):
        bias[fitted.label] = 0
    elif len(fitted.classes_) == 2:
        low, high = fitted.classes_
        weights[:, high], bias[low], bias[high] = fitted.coef_[0], 0, fitted.intercept_[0]
    else:
        weights[:, fitted.classes_], bias[fitted.classes_] = fitted.coef_.T, fitted.intercept_
    return np.rint(weights * _WEIGHT).astype(np.int64), np.rint(bias * _WEIGHT).astype(np.int64)
