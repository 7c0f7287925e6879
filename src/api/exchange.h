// The part of an operator that is done together with other ranks: the communicator that the caller named, and
// the operation of HCCL that stands beside the operator's kernel in the stream.
#pragma once

#include <cstdint>

#include "collective/operations.h"
#include "ops/plan.h"

namespace belay::rt {
class Stream;
}

namespace belay::coll {
class Communicator;
}

namespace belay::api {

// In the first stage: whether there is a communicator of the name on the current device, with as many ranks
// as the sizes say.
void CheckExchange(const ops::Plan& plan);

// In the second: everything is checked before anything is queued.
class ExchangeOf {
 public:
  ExchangeOf(const ops::Plan& plan, void* workspace, rt::Stream& stream);
  ~ExchangeOf();
  ExchangeOf(const ExchangeOf&) = delete;
  ExchangeOf& operator=(const ExchangeOf&) = delete;

  bool first() const { return first_; }
  void Submit();

 private:
  const bool first_;
  rt::Stream& stream_;
  coll::Communicator& communicator_;
  coll::Operation operation_;
};

}  // namespace belay::api
