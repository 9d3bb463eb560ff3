"""Every path that a page names stays in the folder."""

from __future__ import annotations

import pytest
from visitor import Visitor, write_table

from understudy.errors import UsageError
from understudy.studio.folder import RELEASES, SCHEMAS, TABLES, Folder

OUTSIDE = (
    "../secret.csv",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b.csv",
    "a\\b.csv",
    ".hidden.csv",
    "x\0.csv",
    " people.csv",
    "C:people.csv",
    "~root.csv/..",
)


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    write_table(inside)
    (tmp_path / "secret.csv").write_text("name\nZaphod\n")
    (inside / "link.csv").symlink_to(tmp_path / "secret.csv")
    (inside / "deep").symlink_to(tmp_path)
    (inside / "folder.csv").mkdir()
    return Folder.of(inside)


@pytest.mark.parametrize("name", [*OUTSIDE, "link.csv", "deep", "folder.csv", "absent.csv", "deep/secret.csv"])
def test_a_path_out_of_the_folder_is_refused(folder, name):
    with pytest.raises(UsageError):
        folder.file(name)


def test_plain_files_are_found_and_links_are_not_listed(folder):
    assert folder.file("people.csv").name == "people.csv"
    assert (
        folder.names(TABLES) == ["people.csv"]
        and folder.names(SCHEMAS) == ["schema.toml"]
        and not folder.names(RELEASES)
    )
    with pytest.raises(UsageError, match="end with"):
        folder.file("people.csv", SCHEMAS)


def test_a_new_file_takes_no_place(folder):
    assert folder.new_file("new.csv", (".csv",)).parent == folder.root
    for name in ("people.csv", "link.csv", "../new.csv"):
        with pytest.raises(UsageError):
            folder.new_file(name, (".csv",))


def test_the_state_is_for_its_owner_alone_and_no_link(folder, tmp_path):
    assert not folder.state.exists()
    assert folder.make_state("runs").stat().st_mode & folder.state.stat().st_mode & 0o777 == 0o700
    folder.make_state("runs").rmdir()
    folder.state.rmdir()
    (folder.root / ".understudy-studio").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="link"):
        _ = folder.state


def test_pages_read_and_write_inside_only(folder, tmp_path):
    visitor = Visitor(folder.root)
    for name in ("../secret.csv", "link.csv", "deep/secret.csv"):
        assert visitor.post("/schema/draft", data=name, output="new.toml").status_code == 422
        assert visitor.post("/schema/check", schema="schema.toml", data=name).status_code == 422
        assert visitor.get("/schema/edit", schema=name).status_code == 404
        assert visitor.get("/report", file=name).status_code == 404
        assert visitor.get("/explore/sample", file=name).status_code == 404
        assert visitor.get(f"/runs/{name}").status_code == 404
    for output in ("../new.toml", "/tmp/new.toml", "deep/new.toml", "schema.toml", "people.csv"):
        assert visitor.post("/schema/draft", data="people.csv", output=output).status_code == 422
    for output in ("../x.csv", "people.csv", "x.sh", "deep/x.csv"):
        form = {"schema": "schema.toml", "data": "people.csv", "epsilon": "1", "output": output}
        assert visitor.post("/publish/prepare", **form).status_code == 422, output
    assert sorted(p.name for p in tmp_path.iterdir()) == ["inside", "secret.csv"]


def test_assets_are_a_closed_list(folder):
    visitor = Visitor(folder.root)
    assert visitor.get("/assets/studio.css").status_code == 200
    for name in ("..%2f..%2fapp.py", "../app.py", "htmx.LICENSE.txt", "app.py"):
        assert visitor.client.get(f"{visitor.base}/assets/{name}", headers=visitor.headers).status_code in (404, 422)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        Folder.of(tmp_path / "absent")
