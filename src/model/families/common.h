// What most families share, so that a family's file states only the differences.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Decoders, and encoders with the same structure. Reads sizes, norms, scales, windows, experts and RoPE from the keys
// with the architecture's prefix, and checks that they are consistent. `family` holds the family's own settings and the
// defaults for keys that the file may omit. `context`: the number of tokens that the model is configured for; 0: its
// trained context. `window_period`: if a file gives a window but not its layers, the last of every `window_period`
// layers has full attention and the others use the window; 0: all layers use the window.
Result<ModelConfig> ReadDecoderConfig(const ModelSource& source, int32_t context, ModelConfig family = {},
                                      int32_t window_period = 0);

// For families in which only the layers with a window rotate: the others are set to kNoRope. `window_period`: as above.
// The pattern counts, also where a window has no effect because it is longer than the context.
Status RotateWindowedLayersOnly(const ModelSource& source, int32_t window_period, ModelConfig* config);

// For families whose windowed layers rotate without scaling and with their own base (rope.freq_base_swa, or `base`).
// `window_period`: as above, but 0: the layers that have a window, and those that a list in the file names.
Status ReadWindowRope(const ModelSource& source, float base, int32_t window_period, ModelConfig* config);

}  // namespace inferflux::model
