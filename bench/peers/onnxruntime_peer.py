"""onnxruntime's MultiHeadAttention, in the layout that it transposes least."""

import numpy as np

from .peer import BasePeer


def _session(problem, threads):
    import onnxruntime
    from onnx import TensorProto, helper

    hidden = problem.heads * problem.features
    key_shape = [1, problem.heads, problem.keys, problem.features]
    shapes = {"query": [1, problem.queries, hidden], "key": key_shape, "value": key_shape}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("out", TensorProto.FLOAT, shapes["query"])]
    node = helper.make_node(
        "MultiHeadAttention", list(shapes), ["out"], domain="com.microsoft",
        num_heads=problem.heads, unidirectional=int(problem.causal),
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(
        helper.make_graph([node], "attention", inputs, outputs), opset_imports=opsets, ir_version=8
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # As OMP_WAIT_POLICY=passive for the others: a pool that spins steals from whoever runs next.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Peer(BasePeer):
    name = "onnxruntime"
    module = "onnxruntime"

    def missing(self):
        absent = super().missing()
        if absent:
            return absent
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            return f"needs onnx to build its graph ({error})"
        return None

    def forward(self, problem, normalizer):
        if normalizer != "softmax" or problem.heads != problem.key_heads:
            return None
        import onnxruntime

        session = _session(problem, self.threads)
        query, key, value = problem.arrays
        rows = np.ascontiguousarray(query.transpose(0, 2, 1, 3)).reshape(1, problem.queries, -1)
        bound = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(array)
            for name, array in {"query": rows, "key": key, "value": value}.items()
        }

        def run():
            out = session.run_with_ort_values(["out"], bound)[0]
            return out, problem

        return run

    def as_array(self, result):
        out, problem = result
        shape = (1, problem.queries, problem.heads, problem.features)
        return out.numpy().reshape(shape).transpose(0, 2, 1, 3)
