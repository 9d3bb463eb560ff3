"""A synthesizer: publishing with the manners of scikit-learn. Every `fit` spends."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from understudy.errors import UsageError, kind_of
from understudy.privacy.budget import Amount
from understudy.privacy.ledger import Ledger
from understudy.publishing import publish
from understudy.release.release import Release
from understudy.schema import Schema


class Synthesizer:
    """Every `fit` reads private rows and spends epsilon. There is no `random_state`: a seed would undo the privacy.

    Follows scikit-learn: parameters are stored as given, `get_params`, `set_params` and `sklearn.base.clone` work, what
    was learned ends with an underscore. Cross-validation fits many times, so it pays many times; the ledger refuses
    the fit that would go over the cap, before the rows are read.

    Args:
        schema: a `Schema` or the path of a schema.toml: all that is public about the table.
        epsilon: what one `fit` spends.
        delta: the allowed failure probability; 0 is pure differential privacy.
        method: "auto" or the name of a method.
        ledger: path of the ledger that pays; the default is the one `publish` takes. An open `Ledger` cannot be cloned.
        cap: of a new account, in epsilon; the default is this epsilon, so that a second fit is refused.
        options: options of the method.

    Attributes after `fit`: `release_`, `feature_names_in_`, `n_features_in_`.

    >>> stand_in = understudy.Synthesizer(schema, epsilon=1, ledger="another.db").fit(frame)
    >>> stand_in.sample(3).shape[0]
    3
    >>> stand_in.fit(frame)
    Traceback (most recent call last):
    understudy.errors.BudgetError: ...
    """

    def __init__(
        self,
        schema: Schema | str | Path,
        *,
        epsilon: Amount = 1,
        delta: Amount = 0,
        method: str = "auto",
        ledger: Ledger | str | Path | None = None,
        cap: Amount | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.ledger = ledger
        self.cap = cap
        self.options = options

    def fit(self, X: Any, y: None = None) -> Self:
        """Publish a frame or a file, spending epsilon from the ledger; the release is then in `release_`.

        Args:
            X: the private table: pandas, polars, pyarrow, or a path.
            y: is ignored: a stand-in has all columns.
        """
        if not isinstance(self.options, Mapping | None):
            raise UsageError(f"options are a mapping such as {{'degree': 2}}, and this is {kind_of(self.options)}")
        self.release_: Release = publish(
            X, self.schema, epsilon=self.epsilon, delta=self.delta, method=self.method, ledger=self.ledger,
            cap=self.cap, **(self.options or {}),
        )  # fmt: skip
        self.feature_names_in_ = list(self.release_.columns)
        self.n_features_in_ = len(self.release_.columns)
        return self

    def sample(self, rows: int | None = None, given: Mapping[str, Any] | None = None, seed: int | None = None) -> Any:
        """Draw `rows` that meet `given`, as `Release.sample` does; costs nothing, so here a `seed` is allowed."""
        return self._fitted().sample(rows, given, seed)

    def _fitted(self) -> Release:
        if not self.__sklearn_is_fitted__():
            raise UsageError("this Synthesizer is not fitted yet: call fit(table) first, which spends its epsilon")
        return self.release_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name; there is nothing to go into `deep`."""
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set `params` by name; nothing is fitted again."""
        for name, value in params.items():
            if name not in _parameters():
                raise UsageError(f"a Synthesizer has no parameter {name!r}; it has {', '.join(_parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        state = "fitted" if self.__sklearn_is_fitted__() else "not fitted"
        return f"<Synthesizer: {self.method} at epsilon {self.epsilon}, {state}>"


def _parameters() -> list[str]:
    return [name for name in inspect.signature(Synthesizer.__init__).parameters if name != "self"]
