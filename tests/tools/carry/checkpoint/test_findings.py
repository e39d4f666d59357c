"""What is told of names that go wrong in one way or another: made up, in the form of real ones."""

import json

import pytest

from programs import run

PLACE = "decoder.layers.{}.mlp.experts"
SENT = "module.module.module."
NO_LAYOUT = (
    "It states no expert-parallel layout, as one that an unmodified release or an older series "
    "saved: whether experts stand under one another's names cannot be told.\n"
)
WRONG = "It was saved under a wrong expert-parallel layout.\n"
MIXED = (
    "It cannot be repaired: names have collided, so the tensors that are left under a name are "
    "mixed of several, and what was left out is nowhere.\n"
)
BACK = (
    "Going back: the unmodified release loads it rightly where the model's layout is the global "
    "grid's; elsewhere it fails on it, or loads it wrongly without an error.\n"
)
STANDARD = f"A tree with the series saved it, under the layout of the global grid. {BACK}"
RIGHT = "Every expert and layer is named once, and model and optimizer agree.\n"


def sequential(layer, index):
    for parameter in ("linear_fc1.weight_w", "linear_fc1.weight_v", "linear_fc2.weight"):
        yield f"{PLACE.format(layer)}.local_experts.{index}.{parameter}"


def grouped(layer, index):
    for parameter in (f"linear_fc1.weight{index}_w", f"linear_fc2.weight{index}"):
        yield f"{PLACE.format(layer)}.{parameter}"


def model(experts, *, layers=(0, 1), chunk="model", form=sequential):
    yield f"{chunk}.module.embedding.word_embeddings.weight"
    for layer in layers:
        yield f"{chunk}.module.decoder.layers.{layer}.self_attention.linear_proj.weight"
        yield f"{chunk}.module.decoder.layers.{layer}.mlp.router.weight"
        for index in experts:
            yield from (f"{chunk}.module.{name}" for name in form(layer, index))


def optimizer(experts, *, layers=(0, 1), form=sequential, part="optimizer"):
    for key in model(experts, layers=layers, form=form):
        name = key.removeprefix("model.module.")
        yield from (f"{part}.state.{SENT}{name}.{kind}" for kind in ("exp_avg", "exp_avg_sq"))


def groups(experts, layers=(0, 1)):
    for layer in layers:
        for index in experts:
            for kind in ("lr", "betas"):
                name = f"{PLACE.format(layer)}.local_experts.{index}.linear_fc1.weight"
                yield f"optimizer.param_to_group_meta.{SENT}{name}.{kind}"


def layouts(*pairs, experts=8, prefix="optimizer."):
    for rank, size, on_global in pairs:
        yield (
            f"{prefix}expert_layout.num_experts_{experts}.ep_rank_{rank}_of_{size}."
            + ("global_ep_rank_{}_of_{}".format(*on_global) if on_global else "no_global_grid")
        )


def look(folder, moe_layers=2):
    done = run("carry", "checkpoint", folder.name, folder=folder.parent)
    assert done.out == ""
    first, said = done.err.split("\n", 1)
    assert first == f"{folder.name}: layers: 2 in decoder.layers; 8 experts in {moe_layers} of them"
    return done.code, said


@pytest.mark.parametrize("form", [sequential, grouped])
def test_all_names_are_there(checkpoint, form):
    keys = [*model(range(8), form=form), *optimizer(range(8), form=form)]
    assert look(checkpoint.write(keys, groups(range(8)) if form is sequential else ())) == (
        0,
        RIGHT + NO_LAYOUT,
    )


@pytest.mark.parametrize("form", [sequential, grouped])
def test_experts_that_are_absent(checkpoint, form):
    keys = [*model(range(4), form=form), *optimizer(range(4), form=form)]
    place = f"{PLACE.format(0)} and 1 more place: experts 4 to 7 of 8: absent in the"
    assert look(checkpoint.write(keys)) == (
        4,
        (
            f"{place} model\n{place} optimizer\n{WRONG}{MIXED}"
            f"Whole are 15 of the {len(keys)} entries of model and optimizer: all that is no "
            f"expert's.\n{NO_LAYOUT}"
        ),
    )


def test_model_and_optimizer_name_experts_differently(checkpoint):
    keys = [*model(range(4)), *optimizer(range(8))]
    place = f"{PLACE.format(0)} and 1 more place: experts 4 to 7 of 8:"
    assert look(checkpoint.write(keys, groups(range(8)))) == (
        4,
        (
            f"{place} absent in the model\n{place} named differently by model and optimizer\n"
            f"{WRONG}{MIXED}"
            "Whole are 143 of the 167 entries of model and optimizer: all that is no expert's, and "
            f"the optimizer's of the experts.\n{NO_LAYOUT}"
        ),
    )


def test_an_expert_without_one_of_its_parameters_is_absent(checkpoint):
    keys = [*model(range(8))]
    keys.remove(f"model.module.{PLACE.format(1)}.local_experts.5.linear_fc1.weight_v")
    code, said = look(checkpoint.write(keys))
    assert code == 4
    assert said.startswith(f"{PLACE.format(1)}: expert 5 of 8: absent in the model\n{WRONG}")


def test_experts_beyond_the_last(checkpoint):
    """Half of the names of a rank are those of another."""
    keys = [*model(range(10), layers=(1,)), *model(range(8), layers=(0,))]
    code, said = look(checkpoint.write(keys))
    assert code == 4
    assert said.startswith(
        f"{PLACE.format(1)}: experts 8 to 9 of 8: too many in the model\n{WRONG}"
        "It cannot be repaired: which of the tensors is whose stands nowhere.\n"
    )


def test_layers_that_the_optimizer_alone_names(checkpoint):
    """As where a stage of a pipeline numbers its layers from 0 in the model."""
    folder = checkpoint.write([*model(range(8)), *optimizer(range(8), layers=(0, 1, 2, 3))])
    code, said = look(folder, moe_layers=4)
    assert code == 4
    assert said == (
        "decoder.layers: layers 2 to 3: absent in the model\n"
        "decoder.layers: layers 2 to 3: named differently by model and optimizer\n"
        f"Its layers are named wrongly.\n{MIXED}Whole are 211 of the 263 entries of model and "
        f"optimizer.\n{NO_LAYOUT}"
    )


def test_a_layer_that_is_not_trained_has_no_state(checkpoint):
    keys = [*model(range(8)), *optimizer(range(8), layers=(1,))]
    assert look(checkpoint.write(keys)) == (0, RIGHT + NO_LAYOUT)


def test_a_layer_between_others_is_absent(checkpoint):
    done = run(
        "carry", "checkpoint", str(checkpoint.write(model((), layers=(0, 2)))),
        folder=checkpoint.folder.parent,
    )  # fmt: skip
    assert done.code == 4
    assert "decoder.layers: layer 1: absent in the model\n" in done.err


def test_layers_that_two_model_chunks_name(checkpoint):
    keys = [*model(range(8), chunk="model0"), *model(range(8), chunk="model1")]
    code, said = look(checkpoint.write(keys))
    assert code == 4
    assert said.startswith(
        "decoder.layers: layers 0 to 1: named twice in the model\nIts layers are named wrongly.\n"
    )


@pytest.mark.parametrize(
    ("chunks", "fault"),
    [
        ([((0, 0), (9, 16)), ((7, 0), (9, 16))], "named twice"),
        ([((0, 0), (16, 9)), ((0, 7), (16, 9))], "named twice"),
        ([((0, 0), (8, 16)), ((4, 0), (8, 16))], "named twice"),
        ([((0, 0), (8, 16)), ((9, 0), (7, 16))], "stored in part"),
    ],
)
def test_shards_that_do_not_make_up_a_tensor(checkpoint, chunks, fault):
    key = f"model.module.{PLACE.format(0)}.local_experts.1.linear_fc2.weight"
    keys = [one for one in model(range(8)) if one != key]
    code, said = look(checkpoint.write([*keys, (key, chunks)]))
    assert code == 4
    assert said == (
        f"{key}: elements of a tensor: {fault} in the model\n"
        "It cannot be repaired: which of the tensors is whose stands nowhere.\n"
        f"Whole are {len(keys)} of the {len(keys) + 1} entries of model and optimizer.\n{NO_LAYOUT}"
    )


def test_the_layout_of_the_global_grid_is_stated(checkpoint):
    stated = layouts((0, 2, (0, 2)), (1, 2, (1, 2)))
    assert look(checkpoint.write([*model(range(8)), *optimizer(range(8))], stated)) == (
        0,
        RIGHT + STANDARD,
    )


@pytest.mark.parametrize(
    ("on_global", "words"), [((0, 1), "EP 2, global EP 1"), (None, "EP 2, no global grid")]
)
def test_a_layout_of_the_models_own_is_stated(checkpoint, on_global, words):
    stated = layouts((0, 2, on_global), (1, 2, on_global), prefix="")
    assert look(checkpoint.write(model(range(8)), stated)) == (
        0,
        (
            f"{RIGHT}A tree with the series saved it, under a layout of the model's own ({words}). "
            f"{BACK}"
        ),
    )


def test_a_permutation_of_the_ranks_is_a_layout_of_its_own(checkpoint):
    """All names are there; the release would give each rank the other one's experts."""
    stated = layouts((0, 2, (1, 2)), (1, 2, (0, 2)))
    code, said = look(checkpoint.write(model(range(8)), stated))
    assert code == 0
    assert "under a layout of the model's own (EP 2, global EP 2). Going back:" in said


def test_a_layout_that_not_every_rank_stated(checkpoint):
    code, said = look(checkpoint.write(model(range(8)), layouts((1, 4, (0, 2)), (3, 4, (1, 2)))))
    assert code == 4
    assert said.startswith(
        "layout: 8 experts on 4 EP ranks, 2 of which stated nothing\n"
        "The expert-parallel layout that it states is not whole, so ranks are missing.\n"
    )


def test_the_layout_says_how_many_experts_there_are_where_no_router_does(checkpoint):
    keys = [key for key in model(range(6)) if "router" not in key]
    stated = layouts((0, 2, (0, 2)), (1, 2, (1, 2)))
    code, said = look(checkpoint.write(keys, stated))
    assert code == 4
    assert "experts 6 to 7 of 8: absent in the model\n" in said


def test_experts_that_are_not_named_one_by_one(checkpoint):
    done = run(
        "carry", "checkpoint", str(checkpoint.write(model(()))), folder=checkpoint.folder.parent
    )
    assert done.code == 0
    assert done.err.endswith(
        "Experts are not named one by one in decoder.layers.0.mlp.experts and 1 more place, so "
        "nothing can be told of them.\n"
    )


def test_json(checkpoint):
    keys = [*model((0, 1, 2, 3, 5, 6, 7), layers=(0,)), *model(range(8), layers=(1,))]
    folder = checkpoint.write(keys, layouts((0, 1, None)))
    done = run("carry", "checkpoint", str(folder), "--json", folder=folder.parent)
    assert (done.code, done.err) == (4, "")
    data = json.loads(done.out)
    assert data.pop("verdict")[0] == WRONG.rstrip("\n")
    assert data == {
        "checkpoint": str(folder),
        "layers": {"decoder.layers": 2},
        "experts": {PLACE.format(0): 8, PLACE.format(1): 8},
        "experts_without_index": [],
        "layouts": [
            {
                "num_experts": 8,
                "ep_rank": 0,
                "ep_size": 1,
                "global_ep_rank": None,
                "global_ep_size": None,
            }
        ],
        "findings": [
            {
                "fault": "absent",
                "kind": "expert",
                "part": "model",
                "place": PLACE.format(0),
                "numbers": [4],
                "of": 8,
            }
        ],
        "entries": 50,
        "whole": 29,
    }
