"""The files that retrieval_steps writes, as the arrays a framework wants: padded, with a mask."""

import dataclasses

import numpy as np

CLASSES = 10


@dataclasses.dataclass
class Sets:
    """Leading dimensions are those of the file: [steps, batch] for batches, [sets] for test sets."""

    items: np.ndarray  # [..., n, 1 + classes]: priority, one-hot class; 0 where padded
    mask: np.ndarray  # [..., n], true if there is an item
    queries: np.ndarray  # [..., 1]
    answers: np.ndarray  # [...]

    def __len__(self):
        return len(self.answers)

    def __getitem__(self, which):
        return Sets(self.items[which], self.mask[which], self.queries[which], self.answers[which])


def read_sets(path, precision):
    with np.load(path) as file:
        sizes, priorities, classes = file["sizes"], file["priorities"], file["classes"]
        mask = np.arange(priorities.shape[-1]) < sizes[..., None]
        one_hot = classes[..., None] == np.arange(CLASSES)
        items = np.concatenate([priorities[..., None], one_hot], axis=-1) * mask[..., None]
        return Sets(items.astype(precision), mask, file["queries"][..., None].astype(precision), file["answers"])


def read_state(path):
    with np.load(path) as file:
        return dict(file)
