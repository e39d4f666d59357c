"""Warnings that are no errors in a run: the unmodified tree and PyTorch give them."""

# Start of the message, category (with the module, where the start alone says little), and reason.
# None of them has to do with names of experts.
IGNORED = (
    ("Apex is not installed", "UserWarning", "an optional package; the tests do without"),
    ("Transformer Engine and Apex are not installed", "UserWarning", "the same"),
    ("Only transformer-engine>=1.7.0 supports MoE", "UserWarning", "the same; at import"),
    ("absl.logging is not installed", "UserWarning", "the same"),
    ("invalid escape sequence", "SyntaxWarning", "in docstrings of 0.19.0 and 0.19.2"),
    ("The following imports from", "DeprecationWarning", "Megatron imports its own old path"),
    ("MimoModelConfig is experimental", "UserWarning", "get_megatron_optimizer imports it"),
    ("full scope is deprecated", "UserWarning", "TransformerConfig says it about its own default"),
    ("MLP requires ffn_hidden_size", "DeprecationWarning", "Megatron's own dense layer omits it"),
    ("`torch.jit.script_method` is deprecated", "DeprecationWarning", "PyTorch's own use of it"),
    ("`load_state_dict` is deprecated", "FutureWarning", "load_checkpoint uses PyTorch's old name"),
    ("torch.distributed is disabled", "UserWarning", "one rank alone reads a checkpoint's tensors"),
    ("'type' is deprecated as of Python 3.12", "DeprecationWarning", "Megatron's own arguments"),
    (
        "Warning",
        "DeprecationWarning:megatron.core.tensor_parallel.layers",
        "no tp_group: the output layer's own use of it; rank 0 alone warns",
    ),
)
