// What most families share, so that a family's file says only where it differs.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Decoders, and encoders that are built as they are. Reads sizes, norms, scales, windows, experts and RoPE under the
// architecture's own key prefix, and checks that they can belong together. `family` holds the family's own knobs, and
// its defaults of what the file may leave out. `context`: tokens that the model is configured for; 0: what it was
// trained for. `window_period`: where a file gives a window and not whose it is, the last of every `window_period`
// layers sees all and the others the window; 0: all layers have the window.
Result<ModelConfig> ReadDecoderConfig(const ModelSource& source, int32_t context, ModelConfig family = {},
                                      int32_t window_period = 0);

// For families whose windowed layers rotate without scaling, and by a base of their own (rope.freq_base_swa, or
// `base`).
Status ReadWindowRope(const ModelSource& source, float base, ModelConfig* config);

}  // namespace inferflux::model
