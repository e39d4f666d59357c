import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from proof import gpus
from proof.platforms import Platform, parse_platform
from stack.errors import ExitCode, Refusal


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("fake", Platform("fake backend, one process", 1, torchrun=False, gpus=0)),
        ("gloo-1", Platform("gloo, 1 rank", 1, torchrun=True, gpus=0)),
        ("gloo-4", Platform("gloo, 4 ranks", 4, torchrun=True, gpus=0)),
    ],
)
def test_platform(text, platform):
    assert parse_platform(text) == platform


@pytest.mark.parametrize(("number", "title"), [(1, "NCCL, 1 GPU"), (2, "NCCL, 2 GPUs")])
def test_a_rank_on_every_gpu(monkeypatch, number, title):
    monkeypatch.setattr("proof.platforms.count_gpus", lambda: number)
    assert parse_platform("gpus") == Platform(title, number, torchrun=True, gpus=number)


@pytest.mark.parametrize("ranks", [2, 4, 10])
@pytest.mark.parametrize("number", [1, 8])
def test_ranks_that_share_a_gpu(monkeypatch, number, ranks):
    monkeypatch.setattr("proof.platforms.count_gpus", lambda: number)
    assert parse_platform(f"shared-gpu-{ranks}") == Platform(
        f"gloo, {ranks} ranks sharing 1 GPU", ranks, torchrun=True, gpus=1
    )


@pytest.mark.parametrize(
    "text",
    ["", "gloo", "gloo-0", "gloo-02", "gloo-100", "fake-2", "gpu", "shared-gpu", "shared-gpu-1"],
)
def test_a_name_that_is_none(text):
    message = f"--platform {text}: unknown; choose one of fake, gloo-N, gpus, shared-gpu-N"
    with pytest.raises(Refusal, match=f"^{re.escape(message)}$") as caught:
        parse_platform(text)
    assert caught.value.exit_code is ExitCode.USAGE


def test_how_many_gpus_there_are(monkeypatch, capsys):
    class Driver:
        def cuInit(self, _):  # noqa: N802 - the driver's own name
            return 0

        def cuDeviceGetCount(self, count):  # noqa: N802 - the driver's own name
            count._obj.value = 3  # noqa: SLF001 - what byref refers to
            return 0

    monkeypatch.setattr("ctypes.CDLL", lambda _: Driver())
    runpy.run_path(gpus.__file__, run_name="__main__")
    assert capsys.readouterr().out == "3\n"


def test_no_gpu_is_visible(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    script = subprocess.run(
        [sys.executable, Path(gpus.__file__)], capture_output=True, text=True, check=False
    )
    assert (script.returncode, script.stdout, script.stderr) == (
        1,
        "",
        "error: no GPU is visible to CUDA; run this on a machine with GPUs\n",
    )
