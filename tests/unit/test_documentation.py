"""The documentation: its links lead somewhere, its snippets run, its pictures are what the package computes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import understudy
from understudy.demo import write_demo
from understudy.privacy.random_source import seeded_generator
from understudy.query.grammar import parse

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COPIED = {DOCS / "proofs", DOCS / "project"}  # when the site is built, and so is the command reference
MADE = {DOCS / "reference" / "commands.md"}
WRITTEN = [page for page in DOCS.rglob("*.md") if page.parent not in COPIED]
PAGES = sorted([*WRITTEN, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
EXECUTED = {  # the pages whose commands and snippets run, by the test that runs them
    "tests/cli/test_guide.py": ["check", "drafts", "federation", "formats", "hospital", "ledger", "panels", "promise", "rules", "tables", "types"],
    "tests/cli/test_pages.py": ["bins", "discovery", "duckdb", "evaluation", "inference", "large-files", "long-lists", "queries", "ranges", "report", "uses", "wide-tables"],
    "tests/cli/test_examples.py": ["README"],
}  # fmt: skip
NOT_RUN = {  # and those whose commands do not run as they stand, with what runs in their place
    "postgresql": "needs a server: tests/cli/test_postgresql.py starts one",
    "spark": "needs Java: tests/laws/test_spark.py, tests/cli/test_spark_trouble.py",
    "studio": "opens a page: tests/cli/test_studio_verb.py, tests/cli/test_studio_browser.py",
    "priors": "two years of 25,000 people: tests/cli/test_prior_option.py does it with 3,000",
    "install": "installs: tests/cli/test_wheelhouse.py",
    "audit": "half a minute of CPU: tests/audit/test_whole_audit.py",
    "CONTRIBUTING": "runs all tests: scripts/test",
    "reproduction": "hours, on tables that are not here: benchmarks/reproduce",
    "federation-results": "hours, on tables that are not here: benchmarks/federation.py",
}
SNIPPETS = ["choose/epsilon.md", "choose/rows.md", "start.md", "guide/python.md"]


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        found = (page.parent / name).resolve() if name else page
        assert found.exists() or found in MADE, f"{page.name}: {target}"
        if anchor and found.suffix == ".md" and found not in MADE:
            assert anchor in anchors(found), f"{page.name}: {target}"


def test_every_command_and_snippet_is_executed_or_says_why_not() -> None:
    """A page that shows something to run is run by a test that names it; what cannot be is listed with a reason."""
    runs = re.compile(r"^```(console|sh|python|r)$", re.MULTILINE)
    shows = {page for page in PAGES if "decisions" not in page.parts and runs.search(page.read_text("utf-8"))}
    shows -= {DOCS / page for page in (*SNIPPETS, "guide/pipelines.md", "guide/r.md")}  # run below
    for test, names in EXECUTED.items():
        text = (ROOT / test).read_text("utf-8")
        for name in names:
            assert f'"{name}"' in text or f"{name}.md" in text, f"{test} no longer runs {name}"
            shows -= {page for page in PAGES if page.with_suffix("").as_posix().endswith(f"/{name}")}
    for name, reason in NOT_RUN.items():
        for place in re.findall(r"[a-z]+/[\w/.-]+", reason):
            assert (ROOT / place).exists(), reason
        shows -= {page for page in PAGES if page.stem == name}
    assert shows == set(), "run these pages in tests/cli/test_guide.py or test_pages.py, or say in NOT_RUN why not"


def test_questions_in_the_text_can_be_asked() -> None:
    """What stands in a sentence as a query is one: the pages' blocks are run, these are read."""
    asked = 0
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        for query in re.findall(r"""query\((?:text=)?"([^"]+)\"""", text) + re.findall(
            r"""query \S+ "([^"]+)\"""", text
        ):
            parse(query)
            asked += 1
    assert asked >= 3


def test_guides_are_in_the_menu() -> None:
    """Every guide stands in a visible table of contents, once."""
    blocks = re.findall(r"```\{toctree\}\n(.*?)```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL)
    shown = [
        line for block in blocks if ":hidden:" not in block for line in block.splitlines() if line and line[0] != ":"
    ]
    assert len(shown) == len(set(shown))
    assert {f"guide/{page.stem}" for page in (DOCS / "guide").glob("*.md")} <= set(shown)


def test_every_page_is_in_the_site() -> None:
    """A page that no table of contents names is a warning of Sphinx, and so an error of the build."""
    listed: set[Path] = {DOCS / "index.md"}
    for page in DOCS.rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    listed |= set(page.parent.glob(f"{line}.md"))
    assert {page for page in WRITTEN if "_build" not in page.parts} - listed - MADE == set()


@pytest.mark.costly
@pytest.mark.parametrize("page", SNIPPETS)
def test_python_snippets_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNDERSTUDY_STATE", str(tmp_path))
    if page == "start.md":
        write_demo(tmp_path / "demo-output", seeded_generator(1), rows=2000)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_first_table_in_three_statements() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "start.md").read_text("utf-8"), re.DOTALL)
    assert len(block.strip().splitlines()) == 3
    (shell,) = re.findall(r"```sh\n(.*?)```", (DOCS / "start.md").read_text("utf-8"), re.DOTALL)
    assert len(shell.strip().splitlines()) == 2


@pytest.mark.costly
def test_pictures_are_what_the_package_computes() -> None:
    for name, svg in module("pictures").pictures().items():
        assert (DOCS / "choose" / name).read_text("utf-8") == svg, f"{name}: python docs/pictures.py"


def test_the_command_reference_has_every_verb_and_option() -> None:
    text = module("command_reference").reference()
    for words in ("## publish", "## ledger verify", "## federation certs", "`--accept-large-epsilon`", "`--given`"):
        assert words in text
    assert "`--epsilon` | The privacy budget, for everything. *Needed.*" in text


def environment(folder: Path) -> dict[str, str]:
    """Where `understudy` is this program, and nothing is kept outside of the folder."""
    program = folder / "bin" / "understudy"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m understudy "$@"\n')
    program.chmod(0o755)
    source = str(Path(understudy.__file__).parents[1])
    known = {k: v for k, v in os.environ.items() if k != "UNDERSTUDY_LEDGER"}
    return known | {"PATH": f"{program.parent}{os.pathsep}{known['PATH']}", "PYTHONPATH": source, "PYTHONUTF8": "1"}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the snippet is written for a POSIX shell")
def test_the_shell_snippet_of_pipelines(tmp_path: Path) -> None:
    write_demo(tmp_path, seeded_generator(1), rows=2000)
    (block,) = re.findall(r"```sh\n(.*?)```", (DOCS / "guide" / "pipelines.md").read_text("utf-8"), re.DOTALL)
    where = environment(tmp_path)
    said = [
        subprocess.run(["sh", "-c", text], cwd=tmp_path, env=where, capture_output=True, text=True, check=True).stdout
        for text in (block, block.replace("out.csv", "more.csv"))
    ]
    assert said == ["published\n", "the budget is used up\n"]
    assert json.loads((tmp_path / "result.json").read_text())["error"]["kind"] == "budget"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the program is found by a shell script")
def test_the_vignette_for_r(tmp_path: Path) -> None:
    """By R where it is installed; else the fields of the JSON that the vignette reads."""
    write_demo(tmp_path, seeded_generator(1), rows=2000)
    where = environment(tmp_path)
    (block,) = re.findall(r"```r\n(.*?)```", (DOCS / "guide" / "r.md").read_text("utf-8"), re.DOTALL)
    if shutil.which("Rscript"):
        (tmp_path / "vignette.R").write_text(block)
        done = subprocess.run(
            ["Rscript", "vignette.R"], cwd=tmp_path, env=where, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        assert "19 times in 20" in done.stdout and "[1] 2000" in done.stdout and "Female" in done.stdout
        assert "refused: " in done.stdout and "short by" in done.stdout
        return

    def understudy_json(*words: str) -> dict[str, object]:
        done = subprocess.run(["understudy", *words, "--json"], cwd=tmp_path, env=where, capture_output=True, text=True)
        found = json.loads(done.stdout)
        assert isinstance(found, dict)
        return found

    plans = understudy_json("plan", "--schema", "schema.toml", "--epsilon", "2")["plans"]
    assert isinstance(plans, list) and "words" in plans[0]
    publish = ("publish", "people.csv", "--schema", "schema.toml", "--epsilon", "2", "--ledger", "ledger.db", "-o")
    done = understudy_json(*publish, "synthetic.csv")
    assert {"output", "release", "charges"} <= done.keys()
    groups = understudy_json("query", str(done["release"]), "count by sex where age >= 40")["groups"]
    assert isinstance(groups, list) and {"by", "value", "stderr"} <= groups[0].keys()
    assert "error" in understudy_json(*publish, "again.csv")


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed, reason="the site is built where the extra `docs` is installed")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for beside in ROOT.iterdir():  # pages link to proofs, pictures of benchmarks and files of the root
        if beside.name != "docs" and not beside.name.startswith("."):
            (tmp_path / beside.name).symlink_to(beside)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "docs", "site"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert (tmp_path / "site" / "reference" / "commands.html").exists()
    for page, target in (("proofs", "proofs/methods-aim.html"), ("guide/panels", "../proofs/relations.html")):
        assert f'href="{target}"' in (tmp_path / "site" / f"{page}.html").read_text("utf-8")
    api = (tmp_path / "site" / "reference" / "api.html").read_text("utf-8")
    assert all(f"understudy.{name}" in api or f".{name}" in api for name in ("publish", "Release", "Synthesizer"))
