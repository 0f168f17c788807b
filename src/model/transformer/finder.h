// Parts of one model file, found by the names of its architecture and checked against its configuration.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/architecture.h"
#include "model/transformer/model.h"

namespace sharpmax::model {

class Finder {
 public:
  Finder(const ModelFile& file, const Configuration& configuration);

  const PartNames& names() const { return names_; }
  const Architecture& architecture() const { return architecture_; }
  const std::string& file_name() const { return name_of(file_); }
  void at_layer(std::int64_t layer) { layer_ = layer; }

  // The tensor's name of a part: the layer is put in, and the expert where the part is one of many.
  std::string full_name(std::string_view part, std::string_view suffix, std::int64_t expert = 0) const;
  // "PART.weight", or PART itself, as Hugging Face names tensors that no layer of torch owns.
  std::string weight_name(std::string_view part) const;
  std::string head_name() const;
  bool has(const std::string& name) const { return find_tensor(file_, name) != nullptr; }
  const StoredTensor& tensor(const std::string& name) const;

  // A matrix of any number of rows where `outputs` is 0.
  WeightMatrix matrix(const std::string& name, std::int64_t outputs, std::int64_t inputs, bool by_input) const;
  std::vector<float> floats(const std::string& name, const std::vector<std::int64_t>& shape) const;
  Projection projection(std::string_view part, std::int64_t outputs, std::int64_t inputs, Presence bias,
                        std::int64_t expert = 0) const;
  NormWeights norm(std::string_view part, std::int64_t width) const;
  // The same part of every expert, all in one tensor.
  std::vector<Projection> stacked(std::string_view part, std::int64_t outputs, std::int64_t inputs) const;

 private:
  void check_shape(const StoredTensor& found, const std::vector<std::int64_t>& wanted) const;

  const ModelFile& file_;
  const Configuration& c_;
  const Architecture& architecture_;
  bool in_folder_;
  const PartNames& names_;
  std::string prefix_;
  std::int64_t layer_ = 0;
};

}  // namespace sharpmax::model
