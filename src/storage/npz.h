// Named arrays in NumPy's .npz files: zip archives whose members are .npy files.
//
// Members are stored or deflated; any other method, encryption, a name given twice or an archive that
// contradicts itself is refused. A member's claimed size is not believed: deflate cannot make
// more than 1032 bytes out of one, so a claim beyond that is refused before anything is allocated.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "storage/npy.h"

namespace sharpmax {

struct NamedNpyArray {
  std::string name;  // without .npy
  NpyArray array;
};

// Every member, in the archive's order.
std::vector<NamedNpyArray> read_npz(const std::filesystem::path& path);

struct NamedNpyView {
  std::string name;
  NpyView array;
};

// Stored, not compressed, as numpy.savez does; atomically, as write_npy does.
void write_npz(const std::filesystem::path& path, const std::vector<NamedNpyView>& arrays);

}  // namespace sharpmax
