"""One file per contender. Each has a class Peer with

    name
    missing()                     why it cannot run here, or None
    version()
    forward(problem, normalizer)  a function without arguments that computes, or None if it cannot
    backward(problem)             the same for softmax gradients; returns (d_query, d_key, d_value)
    as_array(result)              [1, head, query, feature] of what such a function returned

Functions are prepared outside the clock: layout, compilation and graphs are made beforehand. Each peer runs in a process
of its own (serve.py); remote.py is how the tasks see it.
"""

from . import entmax_peer, flex_attention, jax_peer, onnxruntime_peer, sharpmax_peer, torch_sdpa, torch_written_out

ALL = (
    sharpmax_peer.Peer,
    torch_sdpa.Peer,
    torch_written_out.Peer,
    flex_attention.Peer,
    onnxruntime_peer.Peer,
    jax_peer.Peer,
    entmax_peer.Peer,
)

BY_NAME = {kind.name: kind for kind in ALL}
