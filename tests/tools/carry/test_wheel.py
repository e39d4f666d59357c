"""Wheels with the series: every byte of a small one, and a real one installed beside torch."""

import base64
import hashlib
import io
import os
import re
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from carry.bases import default_cache, fetch_release
from carry.carried import Carrier
from carry.wheel import build_wheel
from stack.errors import Refusal

ROOT = Path(__file__).parents[3]
SERIES = ("--series", str(ROOT / "SERIES.md"))
TAGS = "cp312-cp312-manylinux_2_28_x86_64"
COMPILED = "megatron/core/helpers.cpython-312-x86_64-linux-gnu.so"

METADATA = """\
Metadata-Version: 2.4
Name: megatron-core
Version: 1.2.3
Requires-Dist: torch>=2.6.0
Description-Content-Type: text/markdown

# A library

Version: 1.2.3 is not said here.

"""
ADDED = """\
## Pull requests in this wheel

This is megatron-core 1.2.3 with pull requests of Megatron-LM applied. It is no release of NVIDIA's.

- [#1](https://github.com/NVIDIA/Megatron-LM/pull/1) Start (open)
- [#2](https://github.com/NVIDIA/Megatron-LM/pull/2) Go left (open)
- [#3](https://github.com/NVIDIA/Megatron-LM/pull/3) Go right (open)
- [#4](https://github.com/NVIDIA/Megatron-LM/pull/4) Join (open)
"""
WITH_SERIES = """\
Metadata-Version: 2.4
Name: megatron-core
Version: {version}
Requires-Dist: torch>=2.6.0
Description-Content-Type: text/markdown
Project-URL: PR 1, https://github.com/NVIDIA/Megatron-LM/pull/1
Project-URL: PR 2, https://github.com/NVIDIA/Megatron-LM/pull/2
Project-URL: PR 3, https://github.com/NVIDIA/Megatron-LM/pull/3
Project-URL: PR 4, https://github.com/NVIDIA/Megatron-LM/pull/4

# A library

Version: 1.2.3 is not said here.

"""


def release_wheel(project, files):
    """The wheel of a release as its maker leaves it: with folders, in no order, with a RECORD."""
    path = project.root / f"megatron_core-1.2.3-{TAGS}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("megatron")
        for name, content in reversed(files.items()):
            about = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            about.external_attr = (0o100775 if name.endswith(".so") else 0o100664) << 16
            archive.writestr(about, content)
    return path


def release_files(project):
    sources = {path: text for path, text in project.base.items() if path.startswith("megatron/")}
    return sources | {
        COMPILED: "\x7fELF",
        "megatron_core-1.2.3.data/scripts/run": "#!python\n",
        "megatron_core-1.2.3.dist-info/METADATA": METADATA,
        "megatron_core-1.2.3.dist-info/RECORD": "of the release\n",
        "megatron_core-1.2.3.dist-info/WHEEL": "Wheel-Version: 1.0\n",
    }


def build(project, files=None):
    release = release_wheel(project, files or release_files(project))
    return build_wheel(Carrier.open(project.root / "SERIES.md"), "1.2.3", release)


def recorded(path, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{path},sha256={digest},{len(content)}\n"


def test_every_byte_of_a_wheel(project):
    wheel = build(project)
    assert re.fullmatch(r"1\.2\.3\+series\.5\d{6}", wheel.version)
    assert wheel.name == f"megatron_core-{wheel.version}-{TAGS}.whl"
    assert parse_wheel_filename(wheel.name)[1] == Version(wheel.version)
    assert sorted(wheel.changed) == [
        "megatron/core/names.py",
        "megatron/core/sizes.py",
        "megatron/training/loop.py",
    ]

    own, new = "megatron_core-1.2.3", f"megatron_core-{wheel.version}"
    expected = {
        path.replace(own, new): text.encode() for path, text in release_files(project).items()
    }
    top = project.carried["top"].items()
    expected |= {path: text.encode() for path, text in top if path.startswith("megatron/")}
    about = WITH_SERIES.format(version=wheel.version) + ADDED
    expected[f"{new}.dist-info/METADATA"] = about.encode()
    expected["megatron/series.md"] = ADDED.encode()
    record = f"{new}.dist-info/RECORD"
    del expected[record]
    rows = "".join(recorded(path, expected[path]) for path in sorted(expected))
    expected[record] = f"{rows}{record},,\n".encode()

    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        infos = archive.infolist()
        assert {info.filename: archive.read(info) for info in infos} == expected
    assert [info.filename for info in infos] == sorted(expected)
    assert {info.filename for info in infos if info.external_attr >> 16 == 0o100755} == {COMPILED}
    others = [info for info in infos if info.filename != COMPILED]
    assert {info.external_attr >> 16 for info in others} == {0o100644}
    assert {(info.date_time, info.create_system, info.compress_type) for info in infos} == {
        ((1980, 1, 1, 0, 0, 0), 3, zipfile.ZIP_STORED)
    }


def test_the_same_series_is_the_same_version_and_another_is_another(project):
    first = build(project)
    assert build(project) == first
    project.change("megatron/core/sizes.edits.yml", "return 8", "return 16")
    changed = build(project)
    assert changed.version != first.version
    assert changed.version.startswith("1.2.3+series.5")
    project.change("megatron/core/sizes.edits.yml", "return 16", "return 8")
    assert build(project) == first
    project.change("SERIES.md", "1. **Use both**", "1. **Use both**\n\n2. **Use more**")
    project.change(
        "megatron/core/sizes.edits.yml",
        "edits:\n",
        "edits:\n- {pr: 4, commit: 2, in: own_size, at-start: true, insert: 'more = True'}\n",
    )
    longer = build(project)
    assert longer.version.startswith("1.2.3+series.6")
    assert Version(longer.version) > max(Version(first.version), Version(changed.version))


def test_a_release_without_a_description(project):
    files = release_files(project)
    head = "Metadata-Version: 2.1\nName: megatron-core\nVersion: 1.2.3\n"
    wheel = build(project, files | {"megatron_core-1.2.3.dist-info/METADATA": head})
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        text = archive.read(f"megatron_core-{wheel.version}.dist-info/METADATA").decode()
    urls = "".join(
        f"Project-URL: PR {n}, https://github.com/NVIDIA/Megatron-LM/pull/{n}\n"
        for n in range(1, 5)
    )
    assert text == head.replace("1.2.3", wheel.version) + urls + "\n" + ADDED


def test_a_pr_that_brings_nothing_into_the_wheel_is_marked(project):
    (project.root / "megatron/core/names.edits.yml").unlink()
    project.change("megatron/core/sizes.edits.yml", "- {pr: 4", "# - {pr: 4")
    with zipfile.ZipFile(io.BytesIO(build(project).content)) as archive:
        lines = archive.read("megatron/series.md").decode().splitlines()
    assert [line.partition(") ")[2] for line in lines if line.startswith("- ")] == [
        "Start (open)",
        "Go left (open; nothing in this wheel)",
        "Go right (open)",
        "Join (open; nothing in this wheel)",
    ]


def test_what_a_wheel_lacks_is_said_with_what_that_means(project):
    files = release_files(project)
    assert build(project).lacking == ()
    del files["megatron/training/loop.py"]
    wheel = build(project, files)
    text = (
        "megatron-core 1.2.3 has no megatron/training/loop.py, so it lacks a part of #3. "
        "Whoever runs the loop sets its step by hand."
    )
    assert wheel.lacking == (text,)
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        assert archive.read("megatron/series.md").decode() == f"{ADDED}\n{text}\n"


def refusal(project, files):
    with pytest.raises(Refusal) as caught:
        build(project, files)
    return str(caught.value)


def test_what_makes_no_wheel(project):
    files = release_files(project)
    line = refusal(project, files | {"megatron/training/loop.py": "def train():\n    pass\n"})
    assert line.startswith(
        "megatron-core 1.2.3: nothing was applied, since these edits do not land:\n"
        "  megatron/training/loop.edits.yml:6: add-args to step in train: found 0, wanted 1\n"
    )
    top = project.carried["top"].items()
    held = {path: text for path, text in top if path.startswith("megatron/")}
    assert refusal(project, files | held) == (
        "megatron-core 1.2.3 holds the whole series already; install it as it is"
    )
    path = release_wheel(project, {})
    metadata = "megatron_core-1.2.3.dist-info/METADATA"
    other = {name: text for name, text in files.items() if name != metadata}
    assert refusal(project, other) == (
        f"{path}: no wheel of megatron-core 1.2.3; delete it and run again"
    )
    assert refusal(project, files | {metadata: "Name: megatron-core\n\n"}) == (
        "METADATA of the release: 0 lines say its version, 1 should"
    )
    path.write_bytes(b"no zip")
    with pytest.raises(Refusal) as caught:
        build_wheel(Carrier.open(project.root / "SERIES.md"), "1.2.3", path)
    assert str(caught.value) == (
        f"{path}: not a wheel (File is not a zip file); delete it and fetch it again"
    )


# With a release and the series of this repository


@pytest.mark.parametrize("place", range(0, 1600, 32))
def test_a_damaged_wheel(project, place):
    """Whatever the damage does to the archive, it is told as damage."""
    path = release_wheel(project, release_files(project))
    content = path.read_bytes()
    path.write_bytes(content[:place] + b"\x55\xaa\x01\x63\x00\xff" + content[place + 6 :])
    with suppress(Refusal):
        build_wheel(Carrier.open(project.root / "SERIES.md"), "1.2.3", path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--python", "none"), "error: none: is not there; name a Python interpreter by its path"),
        (
            ("--output", "SERIES.md"),
            "Error: Invalid value for '--output': Directory 'SERIES.md' is a file.",
        ),
    ],
)
def test_a_wrong_use(project, arguments, message):
    done = project.run("wheel", "--release", "1.2.3", *arguments)
    assert done.err.splitlines()[-1] == message


def test_an_interpreter_that_is_none(project):
    done = project.run("wheel", "--release", "0.19.2", "--python", "/bin/true")
    assert (done.code, done.err) == (
        1,
        (
            "Fetching the wheel of megatron-core 0.19.2 for /bin/true\n"
            "error: /bin/true: pip ran under it and fetched nothing; name a Python interpreter\n"
        ),
    )


def test_the_same_bytes_wherever_it_is_made(project, monkeypatch):
    done = project.run(*SERIES, "wheel", "--release", "0.19.2", "--output", "one")
    assert (done.code, done.out) == (0, ""), done.err
    (one,) = (project.root / "one").iterdir()
    release = zipfile.Path(fetch_release("0.19.2", default_cache()))
    made = zipfile.ZipFile(one)
    sources = {path for path in made.namelist() if path.startswith("megatron/core/")}
    sources |= {path for path in made.namelist() if path.startswith("megatron/training/")}
    changed = {
        path
        for path in sources
        if not (release / path).exists() or (release / path).read_bytes() != made.read(path)
    }
    made.close()
    release.root.close()
    assert done.err == f"one/{one.name}: {len(changed)} files changed or new\n"
    again = project.run(*SERIES, "wheel", "--release", "0.19.2", "--output", "one")
    assert (again.code, again.err.splitlines()[-1]) == (
        0,
        f"one/{one.name}: is there already, the same byte for byte",
    )

    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    old = os.umask(0o077)
    try:
        assert project.run(*SERIES, "wheel", "--release", "0.19.2", "--output", "a/two").code == 0
    finally:
        os.umask(old)
    (two,) = (project.root / "a/two").iterdir()
    assert (two.name, two.read_bytes()) == (one.name, one.read_bytes())

    one.write_bytes(b"other")
    refused = project.run(*SERIES, "wheel", "--release", "0.19.2", "--output", "one")
    assert (refused.code, refused.err.splitlines()[-1]) == (
        1,
        f"error: one/{one.name}: is there with other bytes; delete it or name another folder",
    )
    assert [file.name for file in (project.root / "one").iterdir()] == [one.name]
    assert one.read_bytes() == b"other"


def test_no_wheel_where_an_edit_does_not_land(project):
    done = project.run("wheel", "--release", "0.19.2")
    assert done.code == 4
    assert done.err.startswith("error: megatron-core 0.19.2: nothing was applied, since these ")
    assert not (project.root / "dist").exists()


HANGS = """\
#!/bin/sh
echo $$ > pid.new && mv pid.new pid
exec sleep 60
"""


def test_a_run_that_is_ended_leaves_no_pip_and_no_download(project, monkeypatch):
    """pip starts itself again with the interpreter it is to work for, here one that hangs."""
    monkeypatch.setenv("MEGATRON_SERIES_CACHE", str(project.root / "cache"))
    monkeypatch.setenv("TMPDIR", str(project.root / "temporary"))
    (project.root / "temporary").mkdir()
    python = project.root / "python"
    python.write_text(HANGS)
    python.chmod(0o755)
    command = ["wheel", "--release", "0.19.2", "--python", str(python)]
    with subprocess.Popen(
        [sys.executable, "-m", "carry", *command], cwd=project.root, stderr=subprocess.PIPE
    ) as run:
        pid = project.root / "pid"
        while not pid.exists():
            time.sleep(0.01)
        run.terminate()
        _, said = run.communicate()
    assert run.returncode == 130
    assert said.endswith(b"interrupted; nothing was changed by the step that was running\n")
    for _ in range(1000):  # who ends it does not wait for it: it is a child of pip
        if subprocess.run(
            ["kill", "-0", pid.read_text().strip()], check=False, capture_output=True
        ).returncode:
            break
        time.sleep(0.01)
    else:
        pytest.fail("pip's own child goes on")
    assert list((project.root / "cache/offered").iterdir()) == []
    assert list((project.root / "temporary").iterdir()) == []


FC1 = "layers.0.mlp.experts.linear_fc1"
NAMES = """\
from megatron.core.transformer import fsdp_dtensor_checkpoint as names

print(names.__file__)
print(names.get_ep_layer_offset(8, ep_rank=1, ep_size=4))
state = {f"layers.0.mlp.experts.linear_fc1.weight{n}": n for n in range(2)}
print(names.handle_experts_in_state_dict(state, 8, ep_rank=1, ep_size=4))
"""


def test_installed_beside_torch_and_uninstalled(project, tmp_path):
    """The environment is fresh; torch and what it needs come from where these tests run."""
    env = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    (packages,) = env.glob("lib/*/site-packages")
    beside = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    (packages / "torch.pth").write_text(beside + "\n")
    before = sorted(env.rglob("*"))

    python = env / "bin/python"
    done = project.run(*SERIES, "wheel", "--release", "0.19.2", "--python", str(python))
    assert done.code == 0, done.err
    (wheel,) = (project.root / "dist").iterdir()

    def pip(*arguments):
        command = [sys.executable, "-m", "pip", "--python", str(python), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def asked(code):
        command = [str(python), "-W", "ignore", "-c", code]
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True, env=clean
        )
        return done.stdout.splitlines()

    pip("install", "--no-index", str(wheel))
    assert asked(NAMES) == [
        str(packages / "megatron/core/transformer/fsdp_dtensor_checkpoint.py"),
        "2",
        f"{{'{FC1}.weight2': 0, '{FC1}.weight3': 1}}",
    ]
    version = wheel.name.split("-")[1]
    importlib = "from importlib import metadata; print(metadata.version('megatron-core'))"
    assert asked(importlib) == [version]
    assert asked("from megatron.core.datasets import helpers_cpp; print('compiled')") == [
        "compiled"
    ]
    assert pip("check") == "No broken requirements found.\n"
    pip("uninstall", "--yes", "megatron-core")
    assert sorted(env.rglob("*")) == before
