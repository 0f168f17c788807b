// Which model it is, told by its bytes: SHA-256 in hexadecimal.
//
// Of a GGUF file the checksum of the file, as `sha256sum` and Hugging Face print it. Of a folder that of the
// lines "DIGEST  NAME\n" of its config.json, its tokenizer.json (where they are there) and its .safetensors
// files, in the order of their names:
//
//   LC_ALL=C; sha256sum config.json *.safetensors tokenizer.json | sort -k 2 | sha256sum   (docs/models.md)
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/file/model_file.h"

namespace sharpmax::model {

// `on_bytes` hears how many of how many bytes were read, and may throw to end it.
using ChecksumListener = std::function<void(std::uint64_t done, std::uint64_t whole)>;
std::string checksum_of(const ModelFile& file, const ChecksumListener& on_bytes = {});

}  // namespace sharpmax::model
