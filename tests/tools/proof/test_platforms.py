import re
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
        ("fake", Platform("fake backend, one process", 1, torchrun=False, gpus=False)),
        ("gloo-1", Platform("gloo, 1 rank", 1, torchrun=True, gpus=False)),
        ("gloo-4", Platform("gloo, 4 ranks", 4, torchrun=True, gpus=False)),
    ],
)
def test_platform(text, platform):
    assert parse_platform(text) == platform


@pytest.mark.parametrize(("number", "title"), [(1, "NCCL, 1 GPU"), (2, "NCCL, 2 GPUs")])
def test_a_rank_on_every_gpu(monkeypatch, number, title):
    monkeypatch.setattr("proof.platforms.count_gpus", lambda: number)
    assert parse_platform("gpus") == Platform(title, number, torchrun=True, gpus=True)


@pytest.mark.parametrize("text", ["", "gloo", "gloo-0", "gloo-02", "gloo-100", "fake-2", "gpu"])
def test_a_name_that_is_none(text):
    message = f"--platform {text}: unknown; choose one of fake, gloo-N, gpus"
    with pytest.raises(Refusal, match=f"^{re.escape(message)}$") as caught:
        parse_platform(text)
    assert caught.value.exit_code is ExitCode.USAGE


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
