"""Who else takes the training steps, one file each, each in a process of its own (serve.py)."""

# module -> the label in results
ALL = {
    "torch_eager": "torch",
    "torch_compiled": "torch.compile",
}
