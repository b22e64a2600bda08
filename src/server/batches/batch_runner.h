// Runs the batches of all keys at a low priority, through the handlers of live requests. The oldest batch of each key
// runs; the keys take turns line by line. Each line's result is stored as it comes, so a batch goes on where it was
// after a restart.
#pragma once

#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/batches/batch_input.h"
#include "server/batches/captured_reply.h"
#include "server/request/route.h"
#include "server/store/batch_store.h"

namespace inferflux::server {

// Added to the priority of the lines' requests: live requests go first. A request that waits for ten seconds gains one.
inline constexpr int32_t kBatchPriority = -1000;
// Lines of all batches that run at once: enough to fill a step.
inline constexpr size_t kMostRunningLines = 16;

// The handler of an endpoint that a batch may use; null: no batch may.
CallerTask BatchEndpoint(std::string_view path);
// "/v1/chat/completions, /v1/completions, ..."
std::string BatchEndpoints();

class BatchRunner {
 public:
  // `services` must outlive the runner.
  explicit BatchRunner(Services& services) : services_(services) {}
  ~BatchRunner() { Stop(); }

  // --- any thread ---

  // Goes on with the batches that have not ended. Call it once, when the models are loaded.
  void Start();
  // Takes up a batch that was added to the store.
  void Add(const std::string& owner, const std::string& id);
  // Ends a batch with the results that it has. Nothing happens to one that has ended.
  void Cancel(const std::string& owner, const std::string& id);
  // Ends the lines that run; they run again at the next start.
  void Stop();

 private:
  struct Batch;
  using Queue = std::deque<std::shared_ptr<Batch>>;
  struct BatchAnswer {
    std::string line;  // of an output or an error file
    bool ok = false;
  };

  // All of these run on the strand.
  void Take(const StoredBatch& stored);
  bool Validate(Batch& batch);
  void FailBatch(Batch& batch, const std::vector<BatchInputError>& errors);
  void Save(Batch& batch);
  void Pump();
  bool StartLine(Queue& queue);
  boost::asio::awaitable<void> RunLine(std::shared_ptr<Batch> batch, BatchLine line);
  boost::asio::awaitable<void> Answer(Batch& batch, const BatchLine& line, BatchAnswer& out);
  boost::asio::awaitable<void> Pause(const Batch& batch, std::chrono::seconds length);
  void Finish(Batch& batch);
  void FailRest(const std::string& id, std::string_view code, std::string_view message);
  void PutResults(Batch& batch, bool ok, const std::string& what);

  Services& services_;
  boost::asio::thread_pool pool_{1};
  boost::asio::strand<boost::asio::thread_pool::executor_type> strand_ = boost::asio::make_strand(pool_);
  std::map<std::string, Queue> queues_;  // by owner
  std::string last_owner_;               // whose line was started last
  size_t running_ = 0;                   // lines
  bool started_ = false;
  bool stopping_ = false;
};

}  // namespace inferflux::server
