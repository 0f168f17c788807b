"""The same attention in NumPy double, on a few rows, each formula written out: what contenders are
held against before they are timed. It shares no code with the library or with any peer."""

import numpy as np

SAMPLED_ROWS = 24
# A contender may err this many times as much as the same rows in plain float32: another order of
# summation and a fast exp stay well within; a wrong mask, scale or rule is off by thousands.
ALLOWED = 16.0
_POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def _entropy(scores, beta):
    shifted = beta * (scores - scores.max())
    weights = np.exp(shifted)
    return np.log(weights.sum()) - (weights * shifted).sum() / weights.sum()


def adaptive(scores):
    nats = _entropy(scores, 1.0)
    beta = max(np.polyval(_POLYNOMIAL, nats), 1.0) if nats > 0.5 else 1.0
    return softmax(scores.dtype.type(beta) * scores)


def adaptive_published(scores):
    """With the 1e-9 of the published code inside its logarithm."""
    weights = softmax(scores)
    nats = -(weights * np.log(weights + scores.dtype.type(1e-9))).sum()
    beta = max(np.polyval(_POLYNOMIAL, nats), 1.0) if nats > 0.5 else 1.0
    return softmax(scores.dtype.type(beta) * scores)


def entropy_target(scores, target=0.5):
    if _entropy(scores, 1.0) <= target:
        return softmax(scores)
    low, high = 1.0, 2.0
    while _entropy(scores, high) > target:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _entropy(scores, middle) > target else (low, middle)
    return softmax(scores.dtype.type(high) * scores)


def sparsemax(scores):
    ordered = np.sort(scores - scores.max())[::-1]
    count = np.arange(1, len(ordered) + 1, dtype=scores.dtype)
    threshold = (np.cumsum(ordered) - 1) / count
    support = int((ordered > threshold).sum())
    return np.maximum(scores - scores.max() - threshold[support - 1], 0)


def entmax15(scores):
    """Root of sum [x - tau]+^2 = 1 by bisection: slow, and nothing to go wrong."""
    halves = (scores - scores.max()) / 2
    low, high = halves.dtype.type(-1.0), halves.dtype.type(0.0)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (np.maximum(halves - middle, 0) ** 2).sum() >= 1 else (low, middle)
    weights = np.maximum(halves - low, 0) ** 2
    return weights / weights.sum()


RULES = {
    "softmax": softmax,
    "adaptive": adaptive,
    "adaptive_published": adaptive_published,
    "entropy_target": entropy_target,
    "sparsemax": sparsemax,
    "entmax15": entmax15,
}


def sampled_rows(problem):
    random = np.random.default_rng(problem.seed + 2)
    head = random.integers(0, problem.heads, SAMPLED_ROWS)
    row = random.integers(0, problem.queries, SAMPLED_ROWS)
    row[0], row[1] = 0, problem.queries - 1
    return list(zip(head.tolist(), row.tolist()))


def _row(problem, head, row, dtype):
    query, key, value = problem.arrays
    kv_head = head // (problem.heads // problem.key_heads)
    seen = row + 1 if problem.causal else problem.keys
    key, value = key[0, kv_head, :seen].astype(dtype), value[0, kv_head, :seen].astype(dtype)
    scale = dtype(1 / np.sqrt(problem.features))
    return query[0, head, row].astype(dtype), key, value, scale


def forward_rows(problem, rule, dtype=np.float64):
    """[sampled row, feature]"""
    outs = []
    for head, row in sampled_rows(problem):
        query, key, value, scale = _row(problem, head, row, dtype)
        outs.append(RULES[rule]((key @ query) * scale) @ value)
    return np.stack(outs)


def query_gradient_rows(problem, dtype=np.float64):
    """Softmax: [sampled row, feature] of the queries' gradient."""
    gradients = []
    for head, row in sampled_rows(problem):
        query, key, value, scale = _row(problem, head, row, dtype)
        weights = softmax((key @ query) * scale)
        d_weights = value @ problem.d_out[0, head, row].astype(dtype)
        d_scores = weights * (d_weights - (weights * d_weights).sum())
        gradients.append(scale * (d_scores @ key))
    return np.stack(gradients)


def key_value_gradients(problem, head, columns, dtype=np.float64, block=512):
    """Softmax: the gradients of some keys and values of one head: two of [column, feature]."""
    query, key, value = (array[0, head].astype(dtype) for array in problem.arrays)
    d_out = problem.d_out[0, head].astype(dtype)
    scale = dtype(1 / np.sqrt(problem.features))
    d_key = np.zeros((len(columns), problem.features), dtype)
    d_value = np.zeros_like(d_key)
    for begin in range(0, problem.queries, block):
        rows = slice(begin, min(begin + block, problem.queries))
        scores = (query[rows] @ key.T) * scale
        if problem.causal:
            scores[np.arange(problem.keys) > np.arange(rows.start, rows.stop)[:, None]] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        d_weights = d_out[rows] @ value.T
        d_scores = weights * (d_weights - (weights * d_weights).sum(axis=1, keepdims=True))
        d_key += scale * (d_scores[:, columns].T @ query[rows])
        d_value += weights[:, columns].T @ d_out[rows]
    return d_key, d_value


def largest_error(found, wanted):
    """NaN counts as infinitely wrong."""
    error = np.abs(np.asarray(found, np.float64) - np.asarray(wanted, np.float64))
    return float("inf") if np.isnan(error).any() else float(error.max())


def allowance(wanted, plain):
    """How far off a contender may be, from how far off plain float32 is; never below one rounding."""
    rounding = float(np.finfo(np.float32).eps) * float(np.abs(wanted).max())
    return ALLOWED * max(largest_error(plain, wanted), rounding)
