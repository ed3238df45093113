"""Reasons why embedded stores cannot start, each one sentence for the person at the terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from callcentre.launch.embedded import Stores
from tests.processes import ROOT

pytestmark = [pytest.mark.usefixtures("no_stores_given"), pytest.mark.slow("starts stores")]


def failure(var: Path, **environment: str) -> str:
    """Return the sentence of a launcher that cannot start and exits with code 1."""
    code = (
        "import sys; from pathlib import Path\n"
        "from callcentre.launch.embedded import Stores\n"
        "from callcentre.launch.servers import StoreError\n"
        "try: Stores(Path(sys.argv[1])).__enter__()\n"
        "except StoreError as error: sys.exit(str(error))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code, var],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (finished.returncode, finished.stdout) == (1, "")
    return finished.stderr


def test_a_second_launcher_in_one_folder_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with Stores(tmp_path / "var", durable=False) as stores:
        errors = failure(tmp_path / "var")

        assert errors == (f"This checkout is running already, as process {os.getpid()}: its data is in {stores.var}.\n")


def test_a_missing_program_is_a_sentence(tmp_path: Path) -> None:
    assert failure(tmp_path, EMBEDDED_POSTGRES_BIN="/nowhere").startswith("No PostgreSQL found: ")
    assert failure(tmp_path, EMBEDDED_VALKEY_BIN="/nowhere", DATABASE_URL="postgresql://elsewhere").startswith(
        "No Valkey found: "
    )


def test_data_of_another_major_version_is_a_sentence(tmp_path: Path) -> None:
    data = tmp_path / "postgres" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("9\n")
    (data.parent / "password").write_text("x")

    assert failure(tmp_path).startswith(f"The data in {data} is of PostgreSQL 9, and only ")


def test_a_data_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert failure(tmp_path / "file" / "var") == (
        f"The data folder {tmp_path}/file/var cannot be used: Not a directory ({tmp_path}/file/var).\n"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("size", ["64k", "20m"])
def test_a_full_disk_is_a_sentence(tmp_path: Path, size: str) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting is forbidden here")
    try:
        errors = failure(disk / "var")
    finally:
        subprocess.run(["umount", disk], check=True)

    assert "no space left" in errors.lower()
    assert errors.count("\n") == 1
