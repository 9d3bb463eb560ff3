"""The notebook in a running Jupyter kernel: every view is drawn, and the progress bar moves.

In an environment of its own, since the base install needs none of this:

    pip install nbclient ipykernel -e '.[frames,test]' && pytest -m long tests/cli/test_notebook.py
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"
LISTEN = """
from understudy import progress
drawn, update = [], progress._NotebookPlace.update
def heard(self, html):
    drawn.append(html)
    update(self, html)
progress._NotebookPlace.update = heard
"""
DRAWN = {  # what a cell ends in, and what its view says
    "schema": "Schema", "plan": "No row was read", "release": "What the budget bought", 'release.plot("age")': "Error bars",
    "release.network()": "modelled together", "answer": "95 % interval", "release.report()": "The promise",
    "evaluation": "CUSTODIAN ONLY", "ledger": "What was promised about whom",
}  # fmt: skip


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    notebook = nbformat.read(NOTEBOOK, 4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(LISTEN))
    notebook.cells.append(nbformat.v4.new_code_cell("drawn"))
    folder = tmp_path_factory.mktemp("notebook")
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("last", DRAWN)
def test_every_view_is_drawn(executed: Any, last: str) -> None:
    cells = [c for c in executed.cells if c.cell_type == "code" and c.source.splitlines()[-1:] == [last]]
    assert cells, "the notebook shows this"
    shown = [out.data["text/html"] for c in cells for out in c.outputs if out.output_type == "execute_result"]
    assert any(DRAWN[last].casefold() in html.casefold() for html in shown)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_the_bar_moves_and_goes_away(executed: Any) -> None:
    drawn = ast.literal_eval(executed.cells[-1].outputs[0].data["text/plain"])
    bars = [html for html in drawn if html]
    assert any("of 2 spent" in html for html in bars) and len(set(bars)) > 3
    assert drawn[-1] == ""
    assert not [o for c in executed.cells if c.cell_type == "code" for o in c.outputs if o.output_type == "error"]
