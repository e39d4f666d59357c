"""Where the tests run: in one process, on CPU ranks that gloo connects, or on the GPUs."""

import re
from dataclasses import dataclass

from proof.gpus import count_gpus
from stack.errors import ExitCode, Refusal
from stack.words import counted

FORMS = "fake, gloo-N, gpus"


@dataclass(frozen=True, slots=True)
class Platform:
    """One way to run the tests.

    Attributes:
        title: What people read.
        ranks: How many processes there are.
        torchrun: Whether torchrun starts them. Without it there is one process, in which PyTorch's
            fake backend plays every rank.
        gpus: Whether the processes see the GPUs.
    """

    title: str
    ranks: int
    torchrun: bool
    gpus: bool


def parse_platform(text: str) -> Platform:
    """The platform that a name on the command line stands for.

    Args:
        text: ``fake``, ``gloo-N`` for N ranks, or ``gpus`` for a rank on every visible GPU.

    Returns:
        The platform.

    Raises:
        Refusal: It is no such name, or there is no GPU.
    """
    if text == "fake":
        return Platform("fake backend, one process", 1, torchrun=False, gpus=False)
    if found := re.fullmatch(r"gloo-([1-9]\d?)", text):
        ranks = int(found[1])
        return Platform(f"gloo, {counted(ranks, 'rank')}", ranks, torchrun=True, gpus=False)
    if text != "gpus":
        raise Refusal(f"--platform {text}: unknown; choose one of {FORMS}", ExitCode.USAGE)
    gpus = count_gpus()
    if not gpus:
        raise Refusal("--platform gpus: no GPU is visible to CUDA; run this on a machine with GPUs")
    return Platform(f"NCCL, {counted(gpus, 'GPU')}", gpus, torchrun=True, gpus=True)
