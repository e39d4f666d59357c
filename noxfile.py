"""The tasks: ``sync``, ``demo``, ``tests``, ``site_tests``, ``gpu_tests``, ``lint``, ``bench``."""

import os

import nox

nox.needs_version = ">=2024.4.15"  # the first with download-free `default_venv_backend` settings
nox.options.sessions = ["lint", "tests"]
# Else nox only says that it skipped a session, and exits with 0 as if all were well.
nox.options.error_on_missing_interpreters = True
# torch is 4.7 GB: an environment is made once and used again.
nox.options.reuse_venv = "yes"

PYTHON = "3.12"  # megatron-core 0.17 and later require it

# The series is carried on the first of these; main then moves through the others.
RELEASES = ("0.17.1", "0.18.2", "0.19.0", "0.19.2")

TREES = "build/trees"

# Where the tests of the change run without a GPU, and with how many processes. More of these than
# cores take many minutes, so `tests` leaves those out.
CPU_PLATFORMS = {"fake": 1, "gloo-1": 1, "gloo-2": 2, "gloo-4": 4}

# With how many processes they share a GPU, where there is none for each of them: a save and a load
# need more than one, and most machines have no more than one GPU.
SHARED_GPU_RANKS = (2, 4)

# What lands in Megatron-LM, in its own style.
UPSTREAM_STYLE = ("megatron", "tests/unit_tests")


@nox.session(python=PYTHON)
def sync(session: nox.Session) -> None:
    """Build the fork from releases, carry the series, and sync it with every newer release."""
    session.install("--quiet", "--editable", ".")
    first, *later = RELEASES
    session.run("carry", "import", "--release", first)
    session.run("carry", "build")
    for release in later:
        session.run("carry", "import", "--release", release)
        session.run("merge_series", "sync")
    session.run("merge_series", "log")


@nox.session(python=PYTHON)
def tests(session: nox.Session) -> None:
    """Run every test that needs no GPU; after --, pytest arguments for the tools alone."""
    session.install("--quiet", "--editable", ".[test,change]")
    # What takes long is not all left to one process at the end.
    session.run("pytest", "--numprocesses=auto", "--dist=worksteal", *session.posargs)
    if not session.posargs:
        cores = len(os.sched_getaffinity(0))
        prove(session, *(platform for platform, ranks in CPU_PLATFORMS.items() if ranks <= cores))


@nox.session(python=PYTHON)
def site_tests(session: nox.Session) -> None:
    """Test the reviewers' site in a Chromium that is installed (Debian: chromium-driver)."""
    session.install("--quiet", "--editable", ".[test,browser]")
    session.run("pytest", "tests/tools/merge_series/site/browser_checks.py", *session.posargs)


@nox.session(python=PYTHON)
def rank_tests(session: nox.Session) -> None:
    """Run the tests of the change on the CPU with 1, 2 and 4 processes, however few its cores."""
    session.install("--quiet", "--editable", ".[test,change]")
    prove(session, *CPU_PLATFORMS)


@nox.session(python=PYTHON)
def gpu_tests(session: nox.Session) -> None:
    """Run the tests of the change on every visible GPU; ``--no-venv`` uses the Python there is.

    Where there are fewer than 2 or 4, it also runs them on so many ranks that share one. Where no
    package registry can be reached, that Python needs PyTorch, pytest, rich, einops and packaging,
    and ``build/trees`` has to come from where ``nox -s trees`` could make it.
    """
    gpus = int(session.run("python3", "tools/proof/gpus.py", silent=True, log=False))
    if session.venv_backend != "none":
        session.install("--quiet", "--editable", ".[test,change]")
    prove(session, "gpus", *(f"shared-gpu-{ranks}" for ranks in SHARED_GPU_RANKS if ranks > gpus))


@nox.session(python=PYTHON)
def demo(session: nox.Session) -> None:
    """Train, save and load by docs/train_save_load.py on both trees: wrong, and right."""
    session.install("--quiet", "--editable", ".[change]")
    make_trees(session)
    session.run("python", "-m", "proof.demo", "docs/train_save_load.py", TREES)


@nox.session(python=PYTHON)
def trees(session: nox.Session) -> None:
    """Write the newest release to ``build/trees``, unmodified and with the series."""
    session.install("--quiet", "--editable", ".")
    make_trees(session)


def prove(session: nox.Session, *platforms: str) -> None:
    """Run the tests of the change on both trees, side by side."""
    make_trees(session)
    session.run(
        "python3",
        "tools/proof",
        *(f"--platform={platform}" for platform in platforms),
        f"--unmodified={TREES}/unmodified",
        f"--fork={TREES}/fork",
        f"{TREES}/fork/tests/unit_tests",  # as the fork holds them: with the edits of later PRs
    )


def make_trees(session: nox.Session) -> None:
    """Make the trees, or keep those that were made from this checkout."""
    session.run("python3", "tools/proof/trees.py", RELEASES[-1], TREES)


@nox.session(python=PYTHON)
def lint(session: nox.Session) -> None:
    """Check style and types."""
    session.install("--quiet", "--editable", ".[lint]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("black", "--check", "--quiet", *UPSTREAM_STYLE)
    session.run("isort", "--check", "--quiet", *UPSTREAM_STYLE)
    session.run("mypy")


@nox.session(python=PYTHON)
def bench(session: nox.Session) -> None:
    """Measure syncs and the allowlist, beside git, and the names of parameters, on both trees."""
    session.install("--quiet", "--editable", ".[test,change]")
    session.run("python", "tests/bench/stacks.py")
    session.run("python", "tests/bench/allowlist.py")
    make_trees(session)
    session.run("python", "tests/bench/naming.py")
