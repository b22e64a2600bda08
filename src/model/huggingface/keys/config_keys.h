// Every key of config.json is read, known to be without effect, or refused by name.
//
// A family's table (Checkpoint::keys) is a JSON object with these members:
//   read      key: what transformers' configuration class has if the file omits the key
//   only      key: [the values that are computed]; the first one counts if the file omits the key
//   unused    [keys that do not change the result]
//   names     other names of a key: {"n_embd": "hidden_size"}; one that is also in `unused` counts only without the key
//   nullable  [keys of `read` that may be null although their default is something else]
// "rope_parameters.partial_rotary_factor" in `read`: RoPE's object may have it although it is not a key beside it.
// So are "rope_parameters.NAME" in `read` or `unused` the keys of RoPE's object that only this family has.
// "rope_parameters.full_attention": that object has one object for each kind of layer.
#pragma once

#include <string_view>

#include "base/result.h"
#include "formats/json/json_object.h"
#include "model/families/checkpoint.h"

namespace inferflux::model {

// The object with transformers' names, and with its defaults for the keys that the file omits; keys without effect are
// left out. If there is a text_config, its keys count, and the others stay as they are. kUnsupported names the key, its
// value and the supported values or the nearest known key.
Result<formats::JsonObject> ApplyConfigKeys(const formats::JsonObject& root, std::string_view model_type,
                                            const Checkpoint& checkpoint);

// Whether a key has no effect on what any model computes: dropout, special tokens, settings of generation.
bool IsSharedConfigKey(std::string_view key);

}  // namespace inferflux::model
