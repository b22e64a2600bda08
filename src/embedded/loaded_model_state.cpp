#include "embedded/loaded_model_state.h"

#include <utility>

namespace inferflux::embedded {

std::shared_ptr<LoadedModelState> DescribeLoaded(std::shared_ptr<Runtime> runtime,
                                                 std::shared_ptr<const serving::ServedModel> model,
                                                 LoadOptions options) {
  options.context = model->info.context;
  options.cancel = {};
  ModelInfo info{.name = model->id,
                 .path = model->info.path,
                 .format = model->info.format,
                 .architecture = model->info.architecture,
                 .quantization = model->info.quantization,
                 .backend = model->exposure.exposed_backend,
                 .provider = model->exposure.provider,
                 .parameters = model->info.parameters,
                 .context = model->info.context,
                 .dimensions = model->info.embedding.dimensions,
                 .chat = model->capabilities.chat && model->chat_template != nullptr,
                 .generates = model->capabilities.completions,
                 .notes = model->info.notes};
  return std::make_shared<LoadedModelState>(
      LoadedModelState{std::move(runtime), std::move(model), std::move(options), std::move(info)});
}

}  // namespace inferflux::embedded
