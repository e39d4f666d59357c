import json

import pytest

from documents import ROOT, tokens
from proof import demo
from stack.errors import ExitCode, Refusal

SCRIPT = ROOT / "docs" / "train_save_load.py"

# Stands for torchrun: says and returns what its tree tells it to, and keeps how it was called.
TORCHRUN = """
    import json, os, pathlib, sys

    tree = pathlib.Path(os.environ["PYTHONPATH"])
    (tree / "call.json").write_text(json.dumps([*sys.argv[1:], os.environ["CUDA_VISIBLE_DEVICES"]]))
    print((tree / "says.txt").read_text())
    sys.exit(int((tree / "code.txt").read_text()))
"""

WRONG = "rank 1: 2 of 9 tensors came back wrong\nrank 0: 0 of 9 tensors came back wrong", 1
RIGHT = "rank 0: 0 of 9 tensors came back wrong\nrank 1: 0 of 9 tensors came back wrong", 0


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "count_gpus", lambda: 0)

    def run(unmodified, fork):
        for name, (says, code) in {"unmodified": unmodified, "fork": fork}.items():
            package = tmp_path / name / "torch" / "distributed"
            package.mkdir(parents=True)
            for folder in (package.parent, package):  # else an installed torch comes first
                (folder / "__init__.py").touch()
            (package / "run.py").write_text("if True:" + TORCHRUN)
            (tmp_path / name / "says.txt").write_text(says)
            (tmp_path / name / "code.txt").write_text(str(code))
        return demo.demonstrate(SCRIPT, tmp_path)

    return run


def test_wrong_and_right(run, capsys, tmp_path):
    assert run(WRONG, RIGHT) == ExitCode.DONE
    assert capsys.readouterr().out == (
        "unmodified: 2 of 18 tensors came back wrong\nfork: 0 of 18 tensors came back wrong\n"
    )
    *options, checkpoint, gpus = json.loads((tmp_path / "fork" / "call.json").read_text())
    on_cpu = "tests/unit_tests/training_without_gpu.py"
    assert options == [
        "--standalone", "--nproc-per-node=2", "--max-restarts=0", on_cpu, str(SCRIPT),
    ]  # fmt: skip
    assert (ROOT / on_cpu).is_file()
    assert (gpus, checkpoint.rpartition("/")[2].partition("-")[0]) == ("", "demo")


@pytest.mark.parametrize(("unmodified", "fork"), [(RIGHT, RIGHT), (WRONG, WRONG), (RIGHT, WRONG)])
def test_otherwise(run, unmodified, fork):
    assert run(unmodified, fork) == ExitCode.FOUND


@pytest.mark.parametrize(
    "broken",
    [
        ("ModuleNotFoundError: No module named 'megatron'", 1),
        ("rank 0: 0 of 9 tensors came back wrong", 0),
        (WRONG[0], 0),
        (RIGHT[0], 1),
    ],
)
def test_a_run_that_breaks_off(run, tmp_path, broken):
    says, code = broken
    with pytest.raises(Refusal) as caught:
        run(broken, RIGHT)
    tree = tmp_path / "unmodified"
    assert str(caught.value) == f"{tree}: {SCRIPT} ended with exit status {code}\n{says}"


def test_a_refusal_is_said(run, capsys, tmp_path):
    run(RIGHT, RIGHT)
    (tmp_path / "fork" / "says.txt").write_text("nothing")
    with pytest.raises(SystemExit) as caught:
        demo.main([str(SCRIPT), str(tmp_path)])
    assert caught.value.code == ExitCode.FAILED
    assert capsys.readouterr().err == (
        f"error: {tmp_path}/fork: {SCRIPT} ended with exit status 0\nnothing\n"
    )


def test_the_page_shows_the_script():
    page = (ROOT / "docs" / "training.md").read_text()
    shown = [token.content for token in tokens(page) if token.type == "fence"]
    assert SCRIPT.read_text() in shown


def test_the_script_is_short():
    assert len(SCRIPT.read_text().splitlines()) <= 60
