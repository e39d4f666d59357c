"""Times the names of a model's parameters with the `megatron` of one tree; run by ``naming.py``.

Prints a JSON object a line: what was timed, for how many parameters, and the seconds.
"""

import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.distributed as dist
from megatron.core import optimizer, parallel_state
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.optimizer.distrib_optimizer import DistributedOptimizer
from megatron.core.process_groups_config import ProcessGroupCollection
from megatron.core.transformer.transformer_config import TransformerConfig
from torch.testing._internal.distributed.fake_pg import FakeStore

LOCAL_EXPERTS = 48  # with two weights each and five of its own, a layer has 101 parameters
EP_SIZE = 2


def meta_model(layers: int) -> GPTModel:
    """A model on the second of two EP ranks, without memory for its parameters."""
    config = TransformerConfig(
        num_layers=layers,
        hidden_size=8,
        num_attention_heads=1,
        ffn_hidden_size=8,
        moe_ffn_hidden_size=8,
        num_moe_experts=LOCAL_EXPERTS * EP_SIZE,
        expert_model_parallel_size=EP_SIZE,
        moe_router_load_balancing_type="none",
        normalization="RMSNorm",
        activation_func=torch.nn.functional.silu,
        gated_linear_unit=True,
        add_bias_linear=False,
        use_cpu_initialization=True,
        perform_initialization=False,
        gradient_accumulation_fusion=False,
    )
    spec = get_gpt_layer_local_spec(
        num_experts=config.num_moe_experts, moe_grouped_gemm=False, normalization="RMSNorm"
    )
    with torch.device("meta"):
        return GPTModel(
            config,
            spec,
            vocab_size=8,
            max_sequence_length=8,
            pg_collection=ProcessGroupCollection.use_mpu_process_groups(),
        )


def by_param_name(chunks: Sequence[GPTModel], params: Sequence[torch.nn.Parameter]) -> list[str]:
    """As a save asks for the names of Adam state."""
    adam = DistributedOptimizer.__new__(DistributedOptimizer)
    adam.model_chunks = chunks
    return [adam._param_name(param) for param in params]  # noqa: SLF001 - what is measured


def dumped(chunks: Sequence[GPTModel], params: Sequence[torch.nn.Parameter]) -> list[str]:
    """As the dump of parameters to parameter groups asks for them."""
    if hasattr(optimizer, "get_global_unique_param_names"):
        names = optimizer.get_global_unique_param_names(chunks)
        return [names[param] for param in params]
    return [optimizer.get_global_unique_param_name(chunks, param) for param in params]


def seconds(run: Callable[[], list[str]], repeats: int) -> float:
    """The time of the fastest of some runs."""
    taken = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def measure(layers: int, asked_of_dump: int) -> None:
    """Measures a model; the dump for some of the parameters, as one name can take long."""
    model = meta_model(layers)
    params = list(model.parameters())
    few = params[:: -(-len(params) // asked_of_dump)]
    for what, run, asked, repeats in (
        ("_param_name", by_param_name, params, 5),
        ("dump", dumped, few, 1),
    ):
        taken = seconds(partial(run, [model], asked), repeats)
        line = {"what": what, "params": len(params), "asked": len(asked), "seconds": taken}
        sys.stdout.write(json.dumps(line | {"names": run([model], few)}) + "\n")


def main() -> None:
    """Measures a small model as a whole and a large one."""
    dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=EP_SIZE)
    parallel_state.initialize_model_parallel(
        expert_model_parallel_size=EP_SIZE, create_gloo_process_groups=False
    )
    measure(layers=10, asked_of_dump=2000)
    measure(layers=1000, asked_of_dump=10)


main()
