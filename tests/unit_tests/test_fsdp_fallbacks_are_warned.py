# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""No FSDP path reads the global process groups for want of the caller's without saying so."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

import megatron.core

TREE = Path(megatron.core.__file__).parents[2]
PLACES = {
    'megatron/core/distributed/fsdp/mcore_fsdp_adapter.py': (
        'FullyShardedDataParallel._init_dist_index'
    ),
    'megatron/core/distributed/torch_fully_sharded_data_parallel.py': (
        'TorchFullyShardedDataParallel.__init__'
    ),
    'megatron/core/transformer/fsdp_dtensor_checkpoint.py': 'get_ep_layer_offset',
}
FILES = (*PLACES, 'megatron/core/transformer/expert_layout.py')
BELOW = 'megatron/core/distributed/fsdp/'


@functools.cache
def reads():
    """What the static check of global reads finds in this tree's FSDP paths."""
    listed = subprocess.run(
        [sys.executable, 'tools/process_groups', 'list', '--json', '.'],
        cwd=TREE,
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(listed.stdout)['reads']
    return [read for read in found if read['path'] in FILES or read['path'].startswith(BELOW)]


def test_every_fallback_is_warned_or_guarded():
    assert [read for read in reads() if read['kind'] == 'fallback'] == []


@pytest.mark.parametrize('path', PLACES)
def test_the_places_that_warn(path):
    """A place that the check no longer sees would pass the other test as well."""
    here = [read for read in reads() if read['path'] == path]
    assert {read['scope'] for read in here if read['kind'] == 'warned'} == {PLACES[path]}
