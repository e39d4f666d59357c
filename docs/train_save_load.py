"""Train a MoE model with an expert-parallel layout of its own; save it, wipe it and load it."""

import sys
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import DistributedDataParallelConfig, FullyShardedDataParallel
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec as layers
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.module import Float16Module
from megatron.training.checkpointing import preprocess_fsdp_dtensor_state_dict as prepare

torch.cuda.set_device(dist.get_node_local_rank())
device = torch.device(torch.cuda.current_device())
dist.init_process_group()
parallel_state.initialize_model_parallel()  # Its EP size is 1; the model's is that of all ranks.
world, (alone, _) = dist.group.WORLD, dist.new_subgroups(1)
several = dict.fromkeys(("ep", "tp_ep", "tp_ep_pp", "dp", "dp_cp", "intra_dist_opt"), world)
single = dict.fromkeys(("tp", "cp", "pp", "mp", "expt_tp", "expt_dp"), alone)
groups = ProcessGroupCollection(**several, **single)
tensor_parallel.model_parallel_cuda_manual_seed(1, tp_rank=0, ep_rank=world.rank(), etp_rank=0)
config = TransformerConfig(
    num_layers=2, hidden_size=16, num_attention_heads=2, bf16=True, use_cpu_initialization=True,
    num_moe_experts=8, expert_model_parallel_size=world.size(), add_bias_linear=False,
    moe_token_dispatcher_type="allgather", moe_router_load_balancing_type="none")
model = Float16Module(config, GPTModel(config, layers(8), 32, 8, pg_collection=groups))
how = {"use_megatron_fsdp": True, "data_parallel_sharding_strategy": "optim_grads"}
ddp = DistributedDataParallelConfig(use_distributed_optimizer=True, bucket_size=1, **how)
model = FullyShardedDataParallel(config, ddp, model, device=device, pg_collection=groups)
options = OptimizerConfig(lr=0.01, bf16=True, use_distributed_optimizer=True, clip_grad=0.0)
adam = get_megatron_optimizer(options, [model], use_gloo_process_groups=False, pg_collection=groups)
for tokens in torch.randint(32, (3, 4, 8), device=device):
    model.zero_grad_buffer()
    model(tokens, torch.arange(8, device=device), None, labels=tokens).mean().backward()
    model.finish_grad_sync()
    adam.step()

def tensors():
    return [t.data.to_local() for p, s in adam.state.items() for t in (p, *s.values()) if t.dim()]

before = [tensor.clone() for tensor in tensors()]
args = SimpleNamespace(num_experts=8, swiglu=False)
how = {"metadata": {"distrib_optim_sharding_type": "fsdp_dtensor"}}
state = {"model": model.module.state_dict()}
state["optimizer"] = adam.sharded_state_dict(state, **how)
dcp.save(prepare(args, state, model.module), checkpoint_id=sys.argv[1])
[tensor.zero_() for tensor in tensors()]
state["optimizer"] = adam.sharded_state_dict(state, is_loading=True, **how)
dcp.load(prepare(args, state, model.module), checkpoint_id=sys.argv[1])
model.load_state_dict(state["model"])
adam.load_state_dict(state["optimizer"])
wrong = sum(not torch.equal(*pair) for pair in zip(before, tensors(), strict=True))
print(f"rank {world.rank()}: {wrong} of {len(before)} tensors came back wrong")
sys.exit(wrong > 0)
