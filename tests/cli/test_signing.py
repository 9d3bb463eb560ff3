"""Signatures of releases: what they cover, whose they are, and that ssh-keygen and we understand each other."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from command import run

from conftest import columns_of, schema_of
from understudy.errors import ReleaseError
from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.release.signing import NAMESPACE, checked, sign, statement
from understudy.release.storage import release_bytes
from understudy.testing import publish_seeded

SSH_KEYGEN = shutil.which("ssh-keygen")
needs_ssh = pytest.mark.skipif(SSH_KEYGEN is None, reason="there is no ssh-keygen here")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    import pyarrow as pa

    folder = tmp_path_factory.mktemp("signed")
    sizes = {"a": 2, "b": 3}
    rows = {name: [str(v) for v in column] for name, column in columns_of(sizes, 60).items()}
    with Ledger(folder / "ledger.db") as ledger:
        publish_seeded(pa.table(rows), schema_of(sizes, 60), seed=1, epsilon=1, ledger=ledger, cap="none").release.save(
            folder / "people.release.zip"
        )
    _keys(folder, "own")
    _keys(folder, "other")
    return folder


def _keys(folder: Path, name: str) -> None:
    from cryptography.hazmat.primitives import serialization as s
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    (folder / name).write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.OpenSSH, s.NoEncryption()))
    (folder / name).chmod(0o600)
    public = key.public_key().public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH)
    (folder / f"{name}.pub").write_bytes(public + b" somebody\n")
    (folder / f"{name}.pem").write_bytes(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    (folder / f"{name}.pub.pem").write_bytes(
        key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo)
    )


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "here"))


def forged(path: Path, **card: object) -> None:
    """A card with other figures, and all hashes made anew: the file is whole."""
    release = Release.open(path)
    members = dict(release.members)
    members["card.json"] = json.dumps({**json.loads(members["card.json"]), **card}, sort_keys=True, indent=1).encode()
    path.write_bytes(release_bytes(members, {"seq": release.head.seq, "hash": release.head.hash}))
    assert Release.open(path).card.epsilon == card["epsilon"]


@pytest.mark.parametrize("kind", ["own", "own.pem"])
@pytest.mark.parametrize("public", ["own.pub", "own.pub.pem"])
def test_a_signature_holds(folder: Path, kind: str, public: str) -> None:
    path = folder / "people.release.zip"
    before = path.read_bytes()
    assert run("sign", path, "--key", folder / kind).code == 0
    assert path.read_bytes() == before
    done = run("verify", path, "--key", folder / public, "--ledger", folder / "ledger.db", "--json")
    assert done.code == 0 and done.json["signed"] and done.json["trusted"] and done.json["ledger"] > 0
    anyone = run("verify", path)
    assert anyone.code == 0 and done.json["key"] in anyone.out and "only you can know" in anyone.out


def test_a_forged_card_is_refused(folder: Path) -> None:
    path = folder / "people.release.zip"
    run("sign", path, "--key", folder / "own")
    forged(path, epsilon=0.01)
    unsigned = run("verify", path, "--signature", path.with_name("none"))
    assert unsigned.code == 1 and "is not signed" in unsigned.err
    done = run("verify", path, "--key", folder / "own.pub", "--json")
    assert done.code == 1 and done.error["kind"] == "release" and "does not hold" in done.error["message"]
    assert run("report", path, "-o", folder / "page.html").code == 1


def test_what_verify_says_without_a_signature(folder: Path) -> None:
    """A file that fits its hashes is whole; that is no proof of who made it, and verify says so."""
    path = folder / "people.release.zip"
    forged(path, epsilon=0.01)
    done = run("verify", path)
    assert done.code == 0 and "nothing here says who made it" in done.out
    assert run("verify", path, "--ledger", folder / "ledger.db").code == 1  # the ledger knows better
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    assert run("verify", path).code == 1


def test_a_moved_ledger_head_is_refused(folder: Path) -> None:
    """The head is not in the release's hash; it is in what is signed."""
    path = folder / "people.release.zip"
    run("sign", path, "--key", folder / "own")
    release = Release.open(path)
    path.write_bytes(release_bytes(release.members, {"seq": 1, "hash": "0" * 64}))
    assert Release.open(path).hash == release.hash
    assert run("verify", path, "--key", folder / "own.pub").code == 1


def test_another_key_is_refused(folder: Path) -> None:
    path = folder / "people.release.zip"
    run("sign", path, "--key", folder / "other")
    done = run("verify", path, "--key", folder / "own.pub")
    assert done.code == 1 and "not by the key" in done.err


def test_no_signature_no_key_no_sense(folder: Path) -> None:
    path = folder / "people.release.zip"
    assert run("verify", path, "--key", folder / "own.pub").code == 1
    assert run("sign", path).code == 2
    assert run("sign", path, "--key", folder / "own.pub").code == 2
    assert run("sign", path, "--key", path).code == 2
    assert run("sign", path, "--key", folder / "own", "-o", path).code == 2
    (folder / "people.release.zip.sig").write_bytes(b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----")
    assert run("verify", path).code == 1


def test_every_byte_of_a_signature_counts(folder: Path) -> None:
    release, place = Release.open(folder / "people.release.zip"), folder / "s.sig"
    sign(release, folder / "own", place)
    text = place.read_text()
    body = text.splitlines()[1:-1]
    for at in range(0, len("".join(body)), 7):
        joined = list("".join(body))
        joined[at] = "A" if joined[at] != "A" else "B"
        place.write_text("\n".join(["-----BEGIN SSH SIGNATURE-----", "".join(joined), "-----END SSH SIGNATURE-----"]))
        with pytest.raises(ReleaseError):
            checked(release, place, folder / "own.pub")


def test_the_report_says_whether_a_signature_holds(folder: Path) -> None:
    path, page = folder / "people.release.zip", folder / "page.html"
    assert run("report", path, "-o", page).code == 0 and "holds, by" not in page.read_text()
    run("sign", path, "--key", folder / "own")
    assert run("report", path, "-o", page, "--key", folder / "own.pub").code == 0
    assert "holds, by SHA256:" in page.read_text()
    assert run("report", path, "-o", page, "--key", folder / "other.pub").code == 1


@needs_ssh
def test_ssh_keygen_signs_and_we_check(folder: Path) -> None:
    path = folder / "people.release.zip"
    said = run("sign", path, "--print").out
    assert said.encode() == statement(Release.open(path))
    done = subprocess.run(
        [SSH_KEYGEN, "-Y", "sign", "-f", folder / "own", "-n", NAMESPACE],
        input=said.encode(), capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    path.with_name(path.name + ".sig").write_bytes(done.stdout)
    assert run("verify", path, "--key", folder / "own.pub").code == 0


@needs_ssh
def test_we_sign_and_ssh_keygen_checks(folder: Path) -> None:
    path = folder / "people.release.zip"
    run("sign", path, "--key", folder / "own")
    (folder / "allowed").write_text("me " + (folder / "own.pub").read_text())
    done = subprocess.run(
        [SSH_KEYGEN, "-Y", "verify", "-f", folder / "allowed", "-I", "me", "-n", NAMESPACE, "-s", f"{path}.sig"],
        input=statement(Release.open(path)), capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
