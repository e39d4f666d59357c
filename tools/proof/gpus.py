"""Counts the GPUs; as a script, prints how many there are, and fails if there is none.

Asks the driver, so that the answer needs neither PyTorch nor an environment to be made first.
"""

import ctypes
import sys


def count_gpus() -> int:
    """How many GPUs a CUDA program would see; ``CUDA_VISIBLE_DEVICES`` counts."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


if __name__ == "__main__":
    gpus = count_gpus()
    if not gpus:
        sys.exit("error: no GPU is visible to CUDA; run this on a machine with GPUs")
    sys.stdout.write(f"{gpus}\n")
