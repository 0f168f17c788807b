"""The same model and step as torch_eager.py, loss and gradient through torch.compile."""

import torch

from train.peers import serve

if __name__ == "__main__":
    serve.serve(lambda function: torch.compile(function, dynamic=False))
