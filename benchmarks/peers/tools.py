"""The tools that are compared, and the promise each one makes: add-remove and replace-one are not the same promise."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    neighbours: str
    delta: str
    keeps: str  # what is known of it, from reading the code


@dataclass(frozen=True)
class Tool:
    key: str
    title: str
    environment: str  # "" is ours: the interpreter that runs the benchmark
    driver: str
    variant: str
    promise: Promise
    repetitions: int = 1

    @property
    def ours(self) -> bool:
        return not self.environment

    @property
    def terms(self) -> str:
        return f"{self.promise.neighbours}, {self.promise.delta}"


_EXACT = "yes: exact integer noise, every charge in a ledger"
_PAPER = "on paper, with floating-point noise"
_PURE = Promise("replace-one", "0", _EXACT)
_APPROXIMATE = Promise("add-remove", "1e-9", _EXACT)
_MST = Promise("add-remove", "1e-9", _PAPER)
_DATASYNTHESIZER = Promise(
    "add-remove", "0 (claimed)",
    "no: ε for network and tables and a second ε for one-way tables; table sizes read from rows; a default seed of 0 "
    "(fresh ones here)",
)  # fmt: skip
_DPMM_PRIVBAYES = Promise(
    "add-remove", "1e-9", "no: the score is divided by entropies, its sensitivity is not; row count used exactly"
)
_OPENDP = Promise("add-remove", "1e-9", "on paper: noise of OpenDP, choices by floating-point probabilities")
_SMARTNOISE = Promise("add-remove", "1e-9", "no: categories and the exact row count are read from rows; mbi 1.1.0")

TOOLS = (
    Tool("ours-pure", "understudy auto, pure ε", "", "ours", "pure", _PURE, 5),
    Tool("ours-approximate", "understudy auto, (ε, δ)", "", "ours", "approximate", _APPROXIMATE, 5),
    Tool("mst", "MST on mbi 2.0, our driver", "mbi", "mst", "-", _MST, 3),
    Tool("aim", "AIM on mbi 2.0, as published", "mbi", "aim", "paper", _MST),
    Tool("aim-short", "AIM on mbi 2.0, cut short", "mbi", "aim", "short", _MST),
    Tool("aim-gdp-short", "AIM under Gaussian DP on mbi 2.0, cut short", "mbi", "aim_gdp", "short", _MST),
    Tool("dpsynth-swift", "dpsynth SWIFT", "dpsynth", "dpsynth_mechanisms", "swift", _MST),
    Tool("dpsynth-aim-gdp", "dpsynth AIM-GDP", "dpsynth", "dpsynth_mechanisms", "aim-gdp", _MST),
    Tool("datasynthesizer-1", "DataSynthesizer, degree 1", "datasynthesizer", "datasynthesizer", "1", _DATASYNTHESIZER),
    Tool("datasynthesizer-2", "DataSynthesizer, degree 2", "datasynthesizer", "datasynthesizer", "2", _DATASYNTHESIZER),
    Tool("dpmm-privbayes", "dpmm PrivBayes", "dpmm", "marginal_models", "priv-bayes", _DPMM_PRIVBAYES),
    Tool("dpmm-mst", "dpmm MST", "dpmm", "marginal_models", "mst", _OPENDP),
    Tool("dpmm-aim", "dpmm AIM", "dpmm", "marginal_models", "aim", _OPENDP),
    Tool("smartnoise-mst", "smartnoise-synth MST", "smartnoise", "smartnoise", "mst", _SMARTNOISE),
)
