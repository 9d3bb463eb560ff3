"""One virtual environment for each peer, under `.envs` beside this file: never part of the product's dependencies.

    python benchmarks/peers/environments.py [mbi datasynthesizer dpmm smartnoise]

An environment that cannot be made leaves the last words of the installer in `.envs/NAME.error`, for the page. A peer
that is on no package registry runs in an environment that is made by hand: NAME_PYTHON names its interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ENVS = Path(__file__).resolve().parent / ".envs"
PACKAGES = {
    "mbi": ("mbi==2.0.0",),
    "datasynthesizer": ("DataSynthesizer==0.1.13",),
    "dpmm": ("dpmm==0.1.9",),
    "sdv": ("sdv==1.38.5", "torch"),
    "smartnoise": ("smartnoise-synth==1.0.8",),
}
BY_HAND = {"dpsynth": "DPSYNTH_PYTHON"}
LONGEST = 1_200  # seconds for one installation


def python(name: str) -> Path:
    """The interpreter of a peer; ours is the one that runs this."""
    if name in BY_HAND:
        return Path(os.environ[BY_HAND[name]])
    return ENVS / name / "bin" / "python" if name in PACKAGES else Path(sys.executable)


def failure(name: str) -> str | None:
    """Why a peer has no environment, or None where it has one."""
    if name in BY_HAND and not os.environ.get(BY_HAND[name]):
        return f"it is on no package registry: name the interpreter that has it in {BY_HAND[name]}"
    note = ENVS / f"{name}.error"
    if name not in PACKAGES or (ENVS / f"{name}.ready").exists():
        return None
    return note.read_text().strip() if note.exists() else "its environment has not been made"


def make(name: str) -> None:
    """Make the environment of one peer, unless it is there."""
    ENVS.mkdir(exist_ok=True)
    ready, note = ENVS / f"{name}.ready", ENVS / f"{name}.error"
    if ready.exists():
        return
    note.unlink(missing_ok=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", ENVS / name], check=True, capture_output=True, text=True)
        install = [python(name), "-m", "pip", "install", "--quiet", *PACKAGES[name]]
        subprocess.run(install, check=True, capture_output=True, text=True, timeout=LONGEST)
        frozen = subprocess.run([python(name), "-m", "pip", "freeze"], check=True, capture_output=True, text=True)
        ready.write_text(frozen.stdout)
    except subprocess.CalledProcessError as error:
        lines = [line for line in (error.stderr or "").splitlines() if line.startswith("ERROR")]
        note.write_text("\n".join(lines[-3:] or [str(error)]) + "\n")
    except subprocess.TimeoutExpired:
        note.write_text(f"its installation took more than {LONGEST} seconds\n")


def main() -> None:
    for name in sys.argv[1:] or PACKAGES:
        make(name)
        print(f"{name}: {failure(name) or 'ready'}", flush=True)


if __name__ == "__main__":
    main()
