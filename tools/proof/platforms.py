"""Where the tests run: in one process, on CPU ranks, with a GPU for each rank, or sharing one."""

import re
from dataclasses import dataclass

from proof.gpus import count_gpus
from stack.errors import ExitCode, Refusal
from stack.words import counted

FORMS = "fake, gloo-N, gpus, shared-gpu-N"


@dataclass(frozen=True, slots=True)
class Platform:
    """One way to run the tests.

    Attributes:
        title: What people read.
        ranks: How many processes there are.
        torchrun: Whether torchrun starts them. Without it there is one process, in which PyTorch's
            fake backend plays every rank.
        gpus: How many GPUs the processes see. With one for each rank NCCL connects them; with
            fewer, which it refuses, gloo does.
    """

    title: str
    ranks: int
    torchrun: bool
    gpus: int


def parse_platform(text: str) -> Platform:
    """The platform that a name on the command line stands for.

    Args:
        text: ``fake``, ``gloo-N`` for N ranks on the CPU, ``gpus`` for a rank on every visible GPU,
            or ``shared-gpu-N`` for N ranks on the first of them.

    Returns:
        The platform.

    Raises:
        Refusal: It is no such name, or there is no GPU.
    """
    if text == "fake":
        return Platform("fake backend, one process", 1, torchrun=False, gpus=0)
    if found := re.fullmatch(r"gloo-([1-9]\d?)", text):
        ranks = int(found[1])
        return Platform(f"gloo, {counted(ranks, 'rank')}", ranks, torchrun=True, gpus=0)
    shared = re.fullmatch(r"shared-gpu-([2-9]|[1-9]\d)", text)
    if text != "gpus" and not shared:
        raise Refusal(f"--platform {text}: unknown; choose one of {FORMS}", ExitCode.USAGE)
    gpus = count_gpus()
    if not gpus:
        raise Refusal(
            f"--platform {text}: no GPU is visible to CUDA; run this on a machine with GPUs"
        )
    if shared:
        ranks = int(shared[1])
        return Platform(f"gloo, {ranks} ranks sharing 1 GPU", ranks, torchrun=True, gpus=1)
    return Platform(f"NCCL, {counted(gpus, 'GPU')}", gpus, torchrun=True, gpus=gpus)
