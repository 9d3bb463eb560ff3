"""Questions: the closed list of what can be asked of rows."""

from __future__ import annotations

from typing import Any

from understudy.privacy.questions.choice import Choice
from understudy.privacy.questions.dependence import TotalDependence
from understudy.privacy.questions.details import FineDetails
from understudy.privacy.questions.edges import ChooseChild, ChooseEdge
from understudy.privacy.questions.hadamard import Coefficients, HadamardBlocks
from understudy.privacy.questions.marginals import Marginals
from understudy.privacy.questions.pair_scores import AllPairScores, PairScores
from understudy.privacy.questions.question import MAX_CELLS, NoiseBlock, NoisyBlock, NoisyQuery, Question, Selection
from understudy.privacy.questions.statistics import StatisticQuery
from understudy.privacy.questions.table_distances import NoisyDistances, TableDistances
from understudy.privacy.questions.value_lists import ValueList, ValueLists
from understudy.privacy.questions.wavelets import WaveletTable

QUESTIONS: tuple[type[Question[Any]], ...] = (
    Choice, ChooseEdge, ChooseChild, Marginals, HadamardBlocks, WaveletTable, FineDetails, AllPairScores,
    StatisticQuery, TableDistances, TotalDependence, ValueLists,
)  # fmt: skip

__all__ = [
    "MAX_CELLS", "QUESTIONS", "AllPairScores", "Choice", "ChooseChild", "ChooseEdge", "Coefficients", "FineDetails",
    "HadamardBlocks", "Marginals", "NoiseBlock", "NoisyBlock", "NoisyDistances", "NoisyQuery", "PairScores",
    "Question", "Selection", "StatisticQuery", "TableDistances", "TotalDependence", "ValueList", "ValueLists",
    "WaveletTable",
]  # fmt: skip
