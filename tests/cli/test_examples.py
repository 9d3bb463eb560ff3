"""README's snippet and the notebook: extracted and executed, with pandas and with polars."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

ROOT = Path(__file__).parents[2]
FRAMES: dict[str, Any] = {"pandas": pandas.DataFrame, "polars": polars.DataFrame}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("library", FRAMES)
def test_readme_snippet(library, capsys, tmp_path):
    (snippet,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(snippet.strip().splitlines()) <= 11
    if library == "polars":
        made = "demo_table(2000, default_rng()).to_pandas()"
        assert made in snippet
        snippet = "import polars\n" + snippet.replace(made, f"polars.from_arrow({made.removesuffix('.to_pandas()')})")
    names: dict[str, Any] = {}
    exec(compile(snippet, "README.md", "exec"), names)
    assert "a 10% share of a group of 500" in capsys.readouterr().out
    assert isinstance(names["release"].sample(7), FRAMES[library]) and len(names["release"].sample(7)) == 7
    assert (tmp_path / "people.release.zip").exists() and (tmp_path / "people.db").exists()


def test_readme_names_every_verb_of_the_foundation_and_starts_with_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("./scripts/demo") < text.index("./scripts/test") < 200
    for verb in ("demo", "init", "check", "plan", "publish", "sample", "ledger", "doctor"):
        assert f"understudy {verb}" in text
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / link).exists(), link


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_the_notebook(library):
    cells = json.loads((ROOT / "examples" / "quickstart.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code[0] == 'LIBRARY = "pandas"' and all(not cell.get("outputs") for cell in cells)
    names: dict[str, Any] = {}
    for source in [f'LIBRARY = "{library}"', *code[1:]]:
        exec(compile(source, "quickstart.ipynb", "exec"), names)
    assert isinstance(names["synthetic"], FRAMES[library]) and len(names["synthetic"]) == 5000
    assert "short by 1" in names["refused"]
    assert set(names["women"]["sex"]) == {"Female"}
    assert names["distance"] < 0.15
    for shown in ("plan", "release", "ledger"):
        assert names[shown]._repr_html_().startswith("<")


@pytest.mark.parametrize("folder", ["docs", "."])
def test_links_lead_somewhere(folder):
    pages = list((ROOT / "docs").rglob("*.md")) if folder == "docs" else list(ROOT.glob("*.md"))
    assert pages
    for page in pages:
        for link in re.findall(r"\]\((?!https?:)([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
