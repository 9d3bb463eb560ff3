"""What leaves the building: the release, its privacy card, and its files."""

from understudy.release.release import Release

__all__ = ["Release"]
