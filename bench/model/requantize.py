#!/usr/bin/env python3
"""A GGUF model with its matrices in another type, for comparisons by type.

    bench/model/requantize.py MODEL.gguf Q4_0 OUT.gguf

Matrices are dequantized and rounded once more, so the new model predicts a little worse than its source; it is for
timings. Types: those that the gguf package quantizes (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, F16, BF16, F32). Vectors stay.
"""

import argparse
import sys

import gguf


def copy_metadata(reader, writer):
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == gguf.Keys.General.ARCHITECTURE:
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, inner)


def requantize(source, kind, out):
    reader = gguf.GGUFReader(source)
    architecture = reader.fields[gguf.Keys.General.ARCHITECTURE].contents()
    writer = gguf.GGUFWriter(out, architecture)
    copy_metadata(reader, writer)
    for tensor in reader.tensors:
        if len(tensor.shape) < 2:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
            continue
        weights = gguf.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, gguf.quantize(weights, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("type", choices=[kind.name for kind in gguf.GGMLQuantizationType])
    parser.add_argument("out")
    arguments = parser.parse_args()
    try:
        requantize(arguments.model, gguf.GGMLQuantizationType[arguments.type], arguments.out)
    except NotImplementedError:
        sys.exit(f"bench/model/requantize.py: the gguf package does not quantize to {arguments.type}")
    except OSError as error:
        sys.exit(f"bench/model/requantize.py: {error}")


if __name__ == "__main__":
    main()
