#include "apps/inferctl/client/interrupt.h"

#include <csignal>

namespace inferflux::apps {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // a signal handler can use only global variables

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = 0;
  previous_ = std::signal(SIGINT, [](int) { interrupted = 1; });
}

InterruptScope::~InterruptScope() { std::signal(SIGINT, previous_); }

bool InterruptScope::Interrupted() { return interrupted != 0; }

}  // namespace inferflux::apps
