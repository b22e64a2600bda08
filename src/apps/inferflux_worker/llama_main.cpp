// inferflux-worker-llama: the worker on llama.cpp, with the devices that its libllama was built for.
#include "serving/backends/llama_engines.h"
#include "worker/service/worker_main.h"

int main(int argc, char** argv) {
  using namespace inferflux;
  return worker::WorkerMain("inferflux-worker-llama", argc, argv,
                            [](ThreadPool& pool) { return serving::LlamaEngines(pool); });
}
