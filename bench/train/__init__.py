"""Training steps of small transformers beside torch."""
