# Copyright (c) 2026, NVIDIA CORPORATION. All rights reserved.

"""Modules that a tree without the change lacks."""

import importlib


class NewModule:
    """A module of ``megatron.core`` that is imported when something of it is used.

    Where there is none, each test that uses it fails by itself, and not the whole file.
    """

    def __init__(self, name: str):
        self._name = f'megatron.core.{name}'

    def __getattr__(self, name: str):
        return getattr(importlib.import_module(self._name), name)
