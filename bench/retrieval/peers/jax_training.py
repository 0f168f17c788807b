"""What the two JAX peers share: parameters as a dictionary, optax's AdamW, one jitted step."""

import jax
import numpy as np
import optax
from jax import numpy as jnp
from retrieval.data import Sets
from retrieval.peers import serve


class Peer(serve.Peer):
    """forward: (parameters, items, mask, queries) -> logits"""

    version = f"{jax.__version__} (optax {optax.__version__})"

    def __init__(self, threads, precision, forward):
        super().__init__(threads, precision)
        jax.config.update("jax_enable_x64", precision == "float64")
        self.optimizer = optax.adamw(
            serve.LEARNING_RATE, b1=serve.BETAS[0], b2=serve.BETAS[1], eps=serve.EPSILON,
            weight_decay=serve.WEIGHT_DECAY)  # fmt: skip
        self.parameters = self.state = None
        self.forward = jax.jit(forward)

        def loss_of(parameters, batch):
            logits = forward(parameters, *batch[:3])
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch[3]).mean()

        def step(parameters, state, batch):
            loss, gradient = jax.value_and_grad(loss_of)(parameters, batch)
            updates, state = self.optimizer.update(gradient, state, parameters)
            return optax.apply_updates(parameters, updates), state, loss

        self.compiled_step = jax.jit(step, donate_argnums=(0, 1))

    def ready(self, sets):
        return Sets(*(jnp.asarray(array) for array in (sets.items, sets.mask, sets.queries, sets.answers)))

    def load(self, parameters):
        parameters = {name: array for name, array in parameters.items() if name != "normalizer"}
        self.parameters = {name: jnp.asarray(array, self.precision) for name, array in parameters.items()}
        self.state = self.optimizer.init(self.parameters)

    def dump(self):
        moments = {f"moment.{name}": np.asarray(array) for name, array in self.state[0].mu.items()}
        return {name: np.asarray(array) for name, array in self.parameters.items()} | moments

    def step(self, batch):
        inputs = (batch.items, batch.mask, batch.queries, batch.answers)
        self.parameters, self.state, loss = self.compiled_step(self.parameters, self.state, inputs)
        return loss

    def finish(self):
        jax.block_until_ready(self.parameters)

    def logits(self, sets):
        return np.asarray(self.forward(self.parameters, sets.items, sets.mask, sets.queries))
