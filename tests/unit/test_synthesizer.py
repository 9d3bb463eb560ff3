"""The synthesizer: scikit-learn's conventions, and every fit paid for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import understudy
from clinic import CLINIC, people
from understudy.errors import BudgetError, UsageError

SCHEMA = understudy.Schema.from_toml(CLINIC)


def synthesizer(folder: Path, **more: object) -> understudy.Synthesizer:
    return understudy.Synthesizer(SCHEMA, ledger=folder / "s.db", method="privbayes", **more)  # type: ignore[arg-type]


def test_fit_spends_and_a_refit_over_the_cap_raises(tmp_path: Path) -> None:
    made = synthesizer(tmp_path, epsilon=1, cap=2)
    assert made.fit(people()) is made and made.release_.rows == 2000
    made.fit(people(), y=None)
    with pytest.raises(BudgetError):
        made.fit(people())
    with understudy.Ledger(tmp_path / "s.db") as ledger:
        account = ledger.account("clinic")
    assert account is not None and account.spent_epsilon == 2


def test_without_a_cap_of_its_own_it_can_be_fitted_once(tmp_path: Path) -> None:
    made = synthesizer(tmp_path).fit(people())
    with pytest.raises(BudgetError):
        made.fit(people())
    assert len(made.sample(7, given={"smoker": "yes"}, seed=3)) == 7  # what was fitted is still there


def test_cross_validation_would_spend_and_is_refused(tmp_path: Path) -> None:
    """Each fold is a clone with the same ledger, so the folds add up on one account."""
    base = pytest.importorskip("sklearn.base")
    selection = pytest.importorskip("sklearn.model_selection")
    made, frame, fitted = synthesizer(tmp_path, epsilon=1, cap=2), people(4000), 0
    with pytest.raises(BudgetError):
        for train, _ in selection.KFold(2).split(np.zeros(4000)):
            base.clone(made).fit(frame.iloc[train])
            base.clone(made).fit(frame.iloc[train])
            fitted += 1
    assert fitted == 1


def test_clone_params_and_fitted_state(tmp_path: Path) -> None:
    base = pytest.importorskip("sklearn.base")
    validation = pytest.importorskip("sklearn.utils.validation")
    made = synthesizer(tmp_path, epsilon=0.5, options={"degree": 1})
    assert made.get_params()["epsilon"] == 0.5 and "random_state" not in made.get_params()
    twin = base.clone(made)
    assert twin is not made and twin.get_params()["options"] == {"degree": 1}
    with pytest.raises(UsageError, match="not fitted"):
        twin.sample()
    made.fit(people())
    validation.check_is_fitted(made)
    assert not hasattr(base.clone(made), "release_") and made.feature_names_in_ == list(people().columns)
    assert made.set_params(epsilon=2).epsilon == 2
    with pytest.raises(UsageError, match="no parameter 'random_state'"):
        made.set_params(random_state=0)


def test_the_docstring_says_first_that_it_spends() -> None:
    first = (understudy.Synthesizer.__doc__ or "").splitlines()[0]
    assert "spends epsilon" in first and "no `random_state`" in first
