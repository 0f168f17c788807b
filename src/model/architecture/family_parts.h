// What several architectures have in common.
#pragma once

#include "model/architecture/architecture.h"

namespace sharpmax::model {

PartNames gguf_names();    // of Llama's relatives
PartNames folder_names();  // the same as Hugging Face names them

// "sliding_window" for every layer, where the file has one.
void read_one_window(Configuration& configuration, const Settings& settings);
// "layer_types" of config.json; false: there are none.
bool read_layer_types(Configuration& configuration, const Settings& settings);
// A soft cap: 0 where the file has none, refused where it is negative or not finite.
double cap_of(const Settings& settings, const SettingName& name);
// The model asks for something that does not run here.
[[noreturn]] void refuse_setting(const Settings& settings, std::string_view name);

}  // namespace sharpmax::model
