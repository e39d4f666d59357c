"""Installs the tools that keep the branch stack: merge_series, carry and process_groups."""

from setuptools import find_packages, setup

setup(
    name="megatron-series",
    version="0.1.0",
    description="A long-lived Megatron-LM branch stack and the tools that keep it current",
    package_dir={"": "tools"},
    packages=find_packages("tools"),
    package_data={"carry": ["*.json"], "merge_series.site": ["templates/*"]},
    python_requires=">=3.12",
    install_requires=[
        "click",
        "filelock",
        "gitpython",
        "grandalf",
        "jinja2",
        "jsonschema",
        "markdown-it-py",
        "packaging",
        "pip",
        "pygments",
        "pyyaml",
        "rich",
        "unidiff",
    ],
    extras_require={
        # What the tests of the tools need.
        "test": ["hypothesis", "html5lib", "pytest", "pytest-timeout", "pytest-xdist", "uv"],
        # What the tests of the site need besides: they drive a Chromium that is installed.
        "browser": ["axe-selenium-python", "selenium"],
        # What the tests of the change need besides: megatron-core's own imports on a CPU.
        # torch is pinned to the version the GPU results were taken with.
        "change": ["torch==2.11.0", "numpy", "einops"],
        "lint": [
            "black",
            "hypothesis",
            "isort",
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
            "merge_series = merge_series.cli:main",
            "carry = carry.cli:main",
            "process_groups = process_groups.cli:main",
        ]
    },
)
