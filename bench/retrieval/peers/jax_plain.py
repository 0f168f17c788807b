"""JAX as anyone would write it: every item through every matrix, a padded batch, a mask, one jit."""

import jax
from jax import numpy as jnp
from retrieval.peers import jax_training, serve


def linear(parameters, name, inputs):
    return inputs @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def forward(parameters, items, mask, queries):
    encoded = linear(parameters, "item", jax.nn.gelu(linear(parameters, "item_in", items)))
    query = linear(parameters, "query", jax.nn.gelu(linear(parameters, "query_in", queries))) @ parameters["w_q"].T
    keys, values = encoded @ parameters["w_k"].T, encoded @ parameters["w_v"].T
    scores = jnp.einsum("bd,bnd->bn", query, keys) / jnp.sqrt(query.shape[-1])
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
    pooled = jnp.einsum("bn,bnd->bd", weights, values)
    return linear(parameters, "out", jax.nn.gelu(linear(parameters, "hidden", pooled)))


if __name__ == "__main__":
    serve.serve(lambda threads, precision: jax_training.Peer(threads, precision, forward))
