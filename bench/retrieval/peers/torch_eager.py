"""torch as anyone would write it: modules, cross_entropy, torch.optim.AdamW."""

import torch
from retrieval.data import Sets
from retrieval.peers import serve, torch_head


class Peer(serve.Peer):
    version = torch.__version__

    def __init__(self, threads, precision):
        super().__init__(threads, precision)
        torch.set_num_threads(threads)
        self.head = torch_head.Head().to(getattr(torch, precision))
        self.forward = self.head
        self._start_optimizer()

    def _start_optimizer(self):
        self.optimizer = torch.optim.AdamW(
            self.head.parameters(), lr=serve.LEARNING_RATE, betas=serve.BETAS, eps=serve.EPSILON,
            weight_decay=serve.WEIGHT_DECAY)  # fmt: skip

    def ready(self, sets):
        return Sets(*(torch.from_numpy(array) for array in (sets.items, sets.mask, sets.queries, sets.answers)))

    def load(self, parameters):
        torch_head.load(self.head, parameters)
        self._start_optimizer()

    def dump(self):
        return torch_head.dump(self.head, self.optimizer)

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.forward(batch.items, batch.mask, batch.queries), batch.answers)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def logits(self, sets):
        with torch.inference_mode():
            return self.forward(sets.items, sets.mask, sets.queries).numpy()


if __name__ == "__main__":
    serve.serve(Peer)
