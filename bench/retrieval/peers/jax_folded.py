"""JAX with our folding: q . (W_K W_2 g) = (W_2^T W_K^T q) . g, and W_V W_2 is applied once to the pooled g, so that
no item meets a matrix of width x width. Padding is computed and masked: shapes are fixed under jit."""

import jax
from jax import numpy as jnp
from retrieval.peers import jax_training, serve
from retrieval.peers.jax_plain import linear


def forward(parameters, items, mask, queries):
    features = jax.nn.gelu(linear(parameters, "item_in", items))
    query = linear(parameters, "query", jax.nn.gelu(linear(parameters, "query_in", queries))) @ parameters["w_q"].T
    folded = query @ parameters["w_k"] @ parameters["item.weight"]  # [batch, width]
    # The item encoder's last bias adds the same to every score of a row: softmax does not see it.
    scores = jnp.einsum("bd,bnd->bn", folded, features) / jnp.sqrt(query.shape[-1])
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
    pooled = linear(parameters, "item", jnp.einsum("bn,bnd->bd", weights, features)) @ parameters["w_v"].T
    return linear(parameters, "out", jax.nn.gelu(linear(parameters, "hidden", pooled)))


if __name__ == "__main__":
    serve.serve(lambda threads, precision: jax_training.Peer(threads, precision, forward))
