// What a test tells the stub of NCCL's library, through a function that it exports.
#pragma once

namespace inferflux::cuda {

struct NcclStub {
  int version = 22703;
  int answers_in_progress = 0;  // of GetAsyncError, before it gives `state`
  int state = 0;                // of a communicator
  int join = 0;                 // what CommInitRankConfig returns
  int size = 2;                 // what CommCount says
  int asked = 0, reduced = 0, aborted = 0, destroyed = 0;
  int operation = -1, type = -1, blocking = -1;
  unsigned long count = 0;
  char id[128] = {};  // that a communicator was made with
};

}  // namespace inferflux::cuda
