"""Checkpoints that the unmodified release and the carried tree save, on the grids of the proof.

A model trains for a step and saves on two ranks that gloo connects, as the tests of the change do;
what is true of each tensor is known from the model, and compared with what stands in the file.
"""

import json
import shutil
from pathlib import Path

import pytest

from carry.checkpoint.findings import look_at_checkpoint
from programs import run
from proof.job import Limits
from proof.launch import run_tests
from proof.platforms import parse_platform
from proof.results import Outcome

ROOT = Path(__file__).parents[4]
TESTS = "tests/unit_tests"
GRIDS = ("global1-model2", "global2-model1", "global2-model2")

SAVES = """\
import json
from pathlib import Path

import pytest
import torch.distributed as dist

from tests.unit_tests.expert_checkpoint import (
    Training, differences, on_real_ranks, stored, true_content
)
from tests.unit_tests.own_expert_layout import Layouts


@pytest.mark.parametrize('layouts', [Layouts(2, 1, 2), Layouts(2, 2, 1), Layouts(2, 2, 2)], ids=str)
def test_save(layouts):
    folder = Path({folder!r}, str(layouts).removeprefix('2ranks-'))

    def body():
        training = Training(layouts.model_ep)
        truth = true_content(training.tensors())
        training.save(folder)
        if dist.get_rank() == 0:
            wrong = differences(stored(folder), truth)
            (folder / 'wrong.json').write_text(json.dumps(wrong))

    on_real_ranks(body, layouts)
"""


@pytest.fixture(scope="module", params=["unmodified", "carried"])
def saved(request, tmp_path_factory):
    """The folder with what a tree saved, and whether each grid could be saved on."""
    folder = tmp_path_factory.mktemp(request.param)
    made = ("--series", str(ROOT / "SERIES.md"), "apply", "--release", "0.19.2")
    assert run("carry", *made, "--output", "carried", folder=folder).code == 0
    if request.param == "unmodified":
        done = run("carry", "export", "--release", "0.19.2", "--output", "tree", folder=folder)
        assert done.code == 0
    else:
        shutil.copytree(folder / "carried", folder / "tree")
    test = folder / "carried" / TESTS / "test_save.py"
    test.write_text(SAVES.format(folder=str(folder)))
    two = parse_platform("gloo-2")
    answers = run_tests(folder / "carried", folder / "tree", [test], two, Limits())
    assert answers.faults == ()
    outcomes = [answer.outcome for answer in answers.tests.values()]
    return request.param, folder, dict(zip(GRIDS, outcomes, strict=True))


def test_what_is_told_of_them(saved):
    tree, folder, outcomes = saved
    said = {}
    for grid in (grid for grid in GRIDS if outcomes[grid] is Outcome.PASSED):
        done = run("carry", "checkpoint", grid, folder=folder)
        said[grid] = (done.code, done.err.splitlines()[1:])
    assert said == EXPECTED[tree]


def test_what_is_called_whole_is_right_and_what_is_wrong_is_seen(saved):
    _, folder, outcomes = saved
    for grid in (grid for grid in GRIDS if outcomes[grid] is Outcome.PASSED):
        report = look_at_checkpoint(folder / grid)
        wrong = json.loads((folder / grid / "wrong.json").read_text())
        assert report.whole.isdisjoint(wrong)
        assert bool(wrong) == bool(report.findings)


PLACE = "decoder.layers.0.mlp.experts and 1 more place: experts 4 to 7 of 8"
NOT_STATED = (
    "It states no expert-parallel layout, as one that an unmodified release or an older series "
    "saved: whether experts stand under one another's names cannot be told."
)
RIGHT = "Every expert and layer is named once, and model and optimizer agree."
WRONG = [
    f"{PLACE}: absent in the model",
    f"{PLACE}: absent in the optimizer",
    "It was saved under a wrong expert-parallel layout.",
    (
        "It cannot be repaired: names have collided, so the tensors that are left under a name are "
        "mixed of several, and what was left out is nowhere."
    ),
    "Whole are 308 of the 692 entries of model and optimizer: all that is no expert's.",
    NOT_STATED,
]


BACK = (
    "Going back: the unmodified release loads it rightly where the model's layout is the global "
    "grid's; elsewhere it fails on it, or loads it wrongly without an error."
)


def own_layout(model_ep, global_ep):
    return (
        f"A tree with the series saved it, under a layout of the model's own (EP {model_ep}, "
        f"global EP {global_ep}). {BACK}"
    )


STANDARD = f"A tree with the series saved it, under the layout of the global grid. {BACK}"

# Where the model's EP size is the smaller one, the release fails before it has saved.
EXPECTED = {
    "unmodified": {"global1-model2": (4, WRONG), "global2-model2": (0, [RIGHT, NOT_STATED])},
    "carried": {
        "global1-model2": (0, [RIGHT, own_layout(2, 1)]),
        "global2-model1": (0, [RIGHT, own_layout(1, 2)]),
        "global2-model2": (0, [RIGHT, STANDARD]),
    },
}
