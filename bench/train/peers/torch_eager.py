"""torch, operation by operation."""

from train.peers import serve

if __name__ == "__main__":
    serve.serve(lambda function: function)
