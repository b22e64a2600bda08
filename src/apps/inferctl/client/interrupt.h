// Detects Ctrl-C while something runs that can be stopped.
#pragma once

namespace inferflux::apps {

// During its lifetime, SIGINT sets a flag instead of ending the program.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  static bool Interrupted();

 private:
  void (*previous_)(int);
};

}  // namespace inferflux::apps
