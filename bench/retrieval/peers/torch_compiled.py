"""The same head and step as torch_eager.py, the model through torch.compile."""

import torch
from retrieval.peers import serve, torch_eager


class Peer(torch_eager.Peer):
    chunks = (4,)  # one shape: each takes its own compilation

    def __init__(self, threads, precision):
        super().__init__(threads, precision)
        self.forward = torch.compile(self.head, dynamic=False)


if __name__ == "__main__":
    serve.serve(Peer)
