"""One file per contender. Each has a class Peer with

    name
    missing()                     why it cannot run here, or None
    version()
    forward(problem, normalizer)  a function without arguments that computes, or None if it cannot
    backward(problem)             the same for softmax gradients; returns (d_query, d_key, d_value)
    as_array(result)              [1, head, query, feature] of what such a function returned

Functions are prepared outside the clock: layout, compilation and graphs are made beforehand.
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


def available(threads, say):
    """Peers by name, and why the others are not there."""
    found, skipped = {}, []
    for kind in ALL:
        peer = kind(threads)
        reason = peer.missing()
        if reason is None:
            found[peer.name] = peer
        else:
            skipped.append(f"{peer.name}: {reason}")
            say(f"skipped {peer.name}: {reason}")
    return found, skipped
