# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""What code says that falls back on the global process groups, where it points, how often."""

import inspect
import warnings
from functools import partial

import pytest

from megatron.core import parallel_state
from megatron.core import process_groups_config as config
from megatron.core.process_groups_config import ProcessGroupCollection
from tests.unit_tests.new_module import NewModule

process_group_fallback = NewModule('process_group_fallback')

TEXT = (
    'build was not given tp, ep and reads the global process groups, '
    "which are wrong for a model with its own; pass the model's"
)


class Group:
    """Stands for a process group of this size."""

    def __init__(self, size):
        self._size = size

    def size(self):
        return self._size


@pytest.fixture
def global_groups(monkeypatch):
    """A global grid with a tensor-parallel size of 1 and an expert-parallel size of 2."""
    groups = {'tp': Group(1), 'ep': Group(2)}
    monkeypatch.setattr(parallel_state, '_TENSOR_MODEL_PARALLEL_GROUP', groups['tp'])
    monkeypatch.setattr(parallel_state, '_EXPERT_MODEL_PARALLEL_GROUP', groups['ep'])
    return groups


@pytest.fixture
def heard():
    """The warnings that come, with Python's own filters."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.resetwarnings()
        yield caught


def fall_back(caller='build', modules=('megatron.core.somewhere',)):
    """Falls back in a function of the innermost of these modules, which those around it call."""
    call = partial(config.warn_process_group_fallback, ['tp', 'ep'], caller=caller)
    for name in modules:
        names = {'__name__': name, 'call': call}
        exec('def function():\n    call()\n', names)  # noqa: S102 - a frame of another module
        call = names['function']
    return call


def line_here():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize('name', ['require_process_groups', 'resolve_process_groups'])
class TestCollection:
    def test_what_was_given_is_returned(self, name):
        given = ProcessGroupCollection(tp=Group(1), ep=Group(2))
        assert getattr(config, name)(given, ['ep', 'tp'], caller='build') is given

    def test_none_counts_as_set(self, name):
        given = ProcessGroupCollection(ep=None)
        assert getattr(config, name)(given, ['ep'], caller='build') is given

    def test_unset_fields_are_named(self, name):
        given = ProcessGroupCollection(tp=Group(1))
        with pytest.raises(ValueError, match='build needs') as error:
            getattr(config, name)(given, ['ep', 'tp', 'dp_cp'], caller='build')
        assert str(error.value) == (
            'build needs ep, dp_cp, which its pg_collection does not set; '
            'set a field to None to say that there is no such group'
        )


class TestNoCollection:
    def test_require(self):
        with pytest.raises(ValueError, match='build needs') as error:
            config.require_process_groups(None, ['tp', 'ep'], caller='build')
        assert str(error.value) == 'build needs a pg_collection with tp, ep, got None'

    def test_resolve(self, global_groups):
        with pytest.warns(config.ProcessGroupFallbackWarning) as caught:
            found = config.resolve_process_groups(None, ['tp', 'ep'], caller='build')
        assert vars(found) == global_groups
        assert [str(warning.message) for warning in caught] == [TEXT]

    def test_resolve_with_the_warning_as_an_error(self):
        with warnings.catch_warnings():
            warnings.simplefilter('error', config.ProcessGroupFallbackWarning)
            with pytest.raises(config.ProcessGroupFallbackWarning):
                config.resolve_process_groups(None, ['tp'], caller='build')


class TestPlace:
    @pytest.mark.parametrize('depth', range(4))
    def test_first_frame_outside_the_core(self, heard, depth):
        call = fall_back(modules=['megatron.core', 'megatron.core.models.gpt'] * depth)
        (call(), line := line_here())
        assert [(w.category, str(w.message), w.filename, w.lineno) for w in heard] == [
            (config.ProcessGroupFallbackWarning, TEXT, __file__, line)
        ]

    @pytest.mark.parametrize('name', ['megatron.core_plus', 'megatron.training.training', 'user'])
    def test_what_is_no_part_of_the_core(self, heard, name):
        fall_back(modules=['megatron.core', name, 'megatron.core'])()
        assert [(w.filename, w.lineno) for w in heard] == [('<string>', 2)]


class TestHowOften:
    def test_once_in_a_loop(self, heard):
        for _ in range(3):
            fall_back()()
        assert len(heard) == 1

    def test_once_though_python_forgets(self, heard):
        for _ in range(3):
            fall_back()()
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
        assert len(heard) == 1

    def test_each_place(self, heard):
        for _ in range(2):
            fall_back()()
            fall_back()()
        assert len(heard) == 2

    def test_each_function(self, heard):
        for caller in ('build', 'wrap', 'build'):
            fall_back(caller)()
        assert [str(w.message).split()[0] for w in heard] == ['build', 'wrap']

    def test_again_for_the_next_who_listens(self):
        heard = []
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.resetwarnings()
                fall_back()()
            heard.append(len(caught))
        assert heard == [1, 1]

    def test_every_time_as_an_error(self, heard):
        answers = []
        for action in ('default', 'ignore', 'error', 'error', 'default'):
            warnings.simplefilter(action)
            try:
                fall_back()()
            except config.ProcessGroupFallbackWarning:
                answers.append('raised')
            else:
                answers.append(len(heard))
        assert answers == [1, 1, 'raised', 'raised', 2]

    def test_always(self, heard):
        warnings.simplefilter('always')
        for _ in range(3):
            fall_back()()
        assert len(heard) == 3

    def test_ignored_by_category(self, heard):
        warnings.simplefilter('ignore', config.ProcessGroupFallbackWarning)
        fall_back()()
        assert heard == []


class TestOnlyIf:
    @pytest.mark.parametrize(
        ('only_if', 'fields', 'expected'),
        [
            ('parallel', ['tp'], 0),
            ('parallel', ['ep'], 1),
            ('parallel', ['tp', 'ep'], 1),
            ('exists', ['tp'], 1),
            ('exists', ['cp', 'ep'], 1),
            ('exists', ['cp'], 0),
        ],
        ids=str,
    )
    @pytest.mark.usefixtures('global_groups')
    def test_size(self, heard, only_if, fields, expected):
        config.warn_process_group_fallback(fields, caller='build', only_if=only_if)
        assert len(heard) == expected

    @pytest.mark.parametrize('only_if', ['parallel', 'exists'])
    def test_no_grid(self, monkeypatch, heard, only_if):
        monkeypatch.setattr(parallel_state, '_EXPERT_MODEL_PARALLEL_GROUP', None)
        # An offline tool states a size without a group.
        monkeypatch.setattr(parallel_state, '_MPU_EXPERT_MODEL_PARALLEL_WORLD_SIZE', 4)
        config.warn_process_group_fallback(['ep'], caller='build', only_if=only_if)
        assert heard == []


def test_what_to_pass(heard):
    config.warn_process_group_fallback(['ep'], caller='build', instead='ep_rank')
    (warning,) = heard
    assert str(warning.message) == (
        'build was not given ep and reads the global process groups, '
        'which are wrong for a model with its own; pass ep_rank'
    )


class TestGlobalRankAndSize:
    def test_group(self, global_groups):
        global_groups['ep'].rank = lambda: 1
        assert process_group_fallback.global_rank_and_size('ep') == (1, 2)

    @pytest.mark.usefixtures('global_groups')
    def test_no_group(self):
        assert process_group_fallback.global_rank_and_size('cp') == (None, None)
