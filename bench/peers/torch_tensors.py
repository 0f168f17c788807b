"""Problems as torch tensors, without a copy."""


def tensors(problem):
    import torch

    return tuple(torch.from_numpy(array) for array in problem.arrays)


def grouped_as_queries(problem):
    """A grouped decode as torch does it best: the queries of a group as rows over their one key head."""
    query, key, value = tensors(problem)
    group = problem.heads // problem.key_heads
    if problem.queries != 1:
        return query.unflatten(1, (problem.key_heads, group)).flatten(2, 3), key, value
    return query.reshape(1, problem.key_heads, group, problem.features), key, value
