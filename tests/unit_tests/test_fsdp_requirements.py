# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What is said where Megatron-FSDP misses something of a model or its process groups."""

from types import SimpleNamespace

import pytest
import torch

from megatron.core.distributed import DistributedDataParallelConfig
from megatron.core.distributed.fsdp.mcore_fsdp_adapter import FullyShardedDataParallel
from megatron.core.transformer import fsdp_dtensor_checkpoint as checkpoint
from tests.unit_tests.new_module import NewModule
from tests.unit_tests.own_expert_layout import Chunk, experts, gpt_model, on_each_rank, own_grid
from tests.unit_tests.training_without_gpu import without_gpu

requirements = NewModule('transformer.fsdp_requirements')


def wrapped_without(field, *, unset, num_experts=8):
    groups = own_grid(2)
    model = gpt_model(groups, ep_size=2, num_experts=num_experts)
    if unset:
        delattr(groups, field)
    else:
        setattr(groups, field, None)
    with without_gpu():
        FullyShardedDataParallel(
            model.config,
            DistributedDataParallelConfig(use_megatron_fsdp=True),
            model,
            device=torch.device('cpu'),
            pg_collection=groups,
        )


@pytest.mark.parametrize('unset', [True, False])
@pytest.mark.parametrize('field', ['ep', 'expt_dp', 'dp_cp'])
def test_a_group_that_is_missing(field, unset):
    def body():
        with pytest.raises(ValueError, match='process groups') as error:
            wrapped_without(field, unset=unset)
        return str(error.value)

    assert on_each_rank(body, world_size=2, global_ep=1)[1] == (
        'FullyShardedDataParallel needs the process groups dp_cp, ep, expt_dp and gets no '
        f'{field}: its pg_collection leaves it unset or None; where there is no such parallelism, '
        'set a group of this rank alone'
    )


@pytest.mark.parametrize('field', ['ep', 'expt_dp'])
def test_a_dense_model_needs_no_groups_of_experts(field):
    def body():
        groups = own_grid(2)
        delattr(groups, field)
        requirements.require_mesh_groups(groups, SimpleNamespace(), DistributedDataParallelConfig())
        requirements.require_mesh_groups(None, SimpleNamespace(), DistributedDataParallelConfig())

    on_each_rank(body, world_size=2, global_ep=1)


def test_several_optimizer_instances():
    def body():
        config = DistributedDataParallelConfig(num_distributed_optimizer_instances=2)
        with pytest.raises(ValueError, match='gets no inter_dist_opt: '):
            requirements.require_mesh_groups(
                own_grid(2), SimpleNamespace(num_moe_experts=8), config
            )

    on_each_rank(body, world_size=2, global_ep=1)


def test_no_float16_module():
    """The keys are then the parameters' names, and adding a level to them finds nothing."""
    names = [f'module.{name}' for name in experts(0, range(4))]
    model = Chunk(names)
    with pytest.raises(ValueError, match='only where a Float16Module stands between') as error:
        checkpoint.handle_swiglu_in_state_dict(model, dict.fromkeys(names), None)
    assert names[0] in str(error.value)
