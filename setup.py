"""Installs the tools that keep the branch stack: merge_series, carry and process_groups."""

import re
from pathlib import Path

from setuptools import find_packages, setup

_STACK = Path(__file__).parent / "tools" / "stack" / "__init__.py"
(_VERSION,) = re.findall(r'^VERSION = "(.+)"$', _STACK.read_text(encoding="utf-8"), re.MULTILINE)

setup(
    name="megatron-series",
    version=_VERSION,
    description="A long-lived Megatron-LM branch stack and the tools that keep it current",
    license_expression="Apache-2.0",
    classifiers=[
        "Development Status :: 4 - Beta",
        "Environment :: Console",
        "Intended Audience :: Developers",
        "Operating System :: POSIX",
        "Programming Language :: Python :: 3 :: Only",
        "Programming Language :: Python :: 3.12",
        "Topic :: Software Development :: Version Control :: Git",
        "Typing :: Typed",
    ],
    package_dir={"": "tools"},
    packages=find_packages("tools"),
    package_data={
        "": ["py.typed"],
        "carry": ["*.json"],
        "merge_series.site": ["templates/*"],
    },
    python_requires=">=3.12",
    install_requires=[
        "click",
        "gitpython",
        "grandalf",
        "isort",
        "jinja2",
        "jsonschema",
        "markdown-it-py",
        "packaging",
        "pip>=25.1",  # the first whose `pip index versions` writes JSON
        "pygments",
        "pyyaml",
        "rich",
        "unidiff",
    ],
    extras_require={
        # What the tests of the tools need.
        "test": [
            "filelock",
            "hypothesis",
            "html5lib",
            "pytest",
            "pytest-timeout",
            "pytest-xdist",
            "uv",
        ],
        # What the tests of the site need besides: they drive a Chromium that is installed.
        "browser": ["axe-selenium-python", "selenium"],
        # What the tests of the change need besides: megatron-core's own imports on a CPU.
        # torch is pinned to the version the GPU results were taken with.
        "change": ["torch==2.11.0", "numpy", "einops"],
        "lint": [
            "black",
            "hypothesis",
            "mypy",
            "nox",
            "pytest",
            "ruff",
            "types-Pygments",
            "types-PyYAML",
            "types-jsonschema",
        ],
    },
    entry_points={
        "console_scripts": [
            "merge_series = merge_series.__main__:main",
            "carry = carry.__main__:main",
            "process_groups = process_groups.cli:main",
        ]
    },
)
