"""normalize() and its gradient: the normalizer alone, over rows of scores."""

from . import _core
from ._arrays import arrays_like
from ._normalizers import as_normalizer, parameter_names
from ._stats import gather_stats, plan_stats


def normalize(scores, normalizer="softmax", *, return_stats=False, threads=0):
    """Weights of each row of scores, along the last dimension.

    scores [batch, head, query, key], leading dimensions may be left out; float32 or float64. -inf is
    a masked key; a row of nothing else gives zeros.
    """
    arrays = arrays_like(scores)
    readable = arrays.readable(scores, "scores")
    weights = arrays.empty(tuple(readable.shape), readable)
    if return_stats is False:
        _core.normalize(readable, as_normalizer(normalizer), weights, {}, (), threads)
        return weights
    rows = (1, 1, 1, *readable.shape[:-1])[-3:]
    wanted, gaps = plan_stats(return_stats, arrays, rows, readable.shape[-1])
    _core.normalize(readable, as_normalizer(normalizer), weights, wanted, gaps, threads)
    return weights, gather_stats(wanted, gaps)


def normalize_backward(d_weights, scores, normalizer="softmax", *, threads=0):
    """(d_scores, d_parameters) of sum(d_weights * normalize(scores)); d_parameters: name -> [head]."""
    arrays = arrays_like(scores)
    readable = arrays.readable(scores, "scores")
    normalizer = as_normalizer(normalizer)
    d_scores = arrays.empty(tuple(readable.shape), readable)
    names = parameter_names(normalizer.name)
    heads = readable.shape[-3] if len(readable.shape) > 2 else 1
    d_parameters = arrays.empty_of((len(names), heads), "float64")
    d_weights = arrays.readable(d_weights, "d_weights")
    _core.normalize_backward(readable, normalizer, d_weights, d_scores, d_parameters, threads)
    return d_scores, dict(zip(names, d_parameters))
