"""The folder that the page works in: every file that it names lies in it, and no link leads out."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import UsageError

STATE = ".understudy-studio"  # runs and their progress; no count and no cell
TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq", ".sav", ".dta", ".sas7bdat", ".xpt", ".xlsx")
DOCUMENTS = (".csv", ".tsv", ".xlsx", ".sav", ".dta", ".json", ".yaml", ".yml", ".xml")
RELEASES = (".release.zip",)
SCHEMAS = (".toml",)
MAX_LISTED = 500  # files of one kind
MAX_NAME = 200


@dataclass(frozen=True)
class Folder:
    """A folder of the operating system; `root` is its real path."""

    root: Path

    @staticmethod
    def of(path: Path) -> Folder:
        """Return the folder of this path; a UsageError says where there is none."""
        root = path.expanduser().resolve()
        if not root.is_dir():
            raise UsageError(f"there is no folder {str(path)!r}: name the one that holds the table")
        return Folder(root)

    def file(self, name: str, suffixes: Sequence[str] = ()) -> Path:
        """Return the path of a regular file of the folder itself; refuse any other name.

        `suffixes` are the endings that are allowed; none means any.
        """
        path = self._place(name, suffixes)
        try:
            found = path.lstat()
        except OSError:
            raise UsageError(f"there is no file {name!r} in this folder") from None
        if not stat.S_ISREG(found.st_mode):  # a link is not followed, wherever it leads
            raise UsageError(f"{name!r} is not a plain file of this folder")
        return path

    def new_file(self, name: str, suffixes: Sequence[str]) -> Path:
        """Return the path of a file that is not there yet."""
        path = self._place(name, suffixes)
        if path.is_symlink() or path.exists():
            raise UsageError(f"{name!r} is there already: choose another name")
        return path

    def _place(self, name: str, suffixes: Sequence[str]) -> Path:
        bad = not name or len(name) > MAX_NAME or name != name.strip() or name.startswith(".")
        if bad or any(c in '/\\:\0<>|?*"' or not c.isprintable() for c in name):
            raise UsageError("a file is named by its name alone, in the folder that the studio was opened on")
        if suffixes and not name.lower().endswith(tuple(suffixes)):
            raise UsageError(f"{name!r} must end with {' or '.join(suffixes)}")
        return self.root / name

    def names(self, suffixes: Sequence[str]) -> list[str]:
        """Return the plain files with one of these endings, by name."""
        found = sorted(
            path.name
            for path in self.root.iterdir()
            if path.name.lower().endswith(tuple(suffixes)) and not path.is_symlink() and path.is_file()
        )
        return [name for name in found if not name.startswith(".")][:MAX_LISTED]

    @property
    def state(self) -> Path:
        """Return the folder of the studio's own notes, which may not be there yet."""
        path = self.root / STATE
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise UsageError(f"{STATE!r} in this folder is a link or a file: remove it")
        return path

    def make_state(self, name: str) -> Path:
        """Return a folder of notes, made where it is missing; only its owner may look."""
        for path in (self.state, self.state / name):
            path.mkdir(mode=0o700, exist_ok=True)
        return self.state / name
