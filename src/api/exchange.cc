#include "api/exchange.h"

#include <cstddef>

#include "base/error.h"
#include "collective/communicator.h"
#include "collective/group.h"
#include "ops/overlap.h"
#include "runtime/context.h"
#include "runtime/stream.h"
#include "tensor/codes.h"

namespace belay::api {
namespace {

using coll::Communicator;
using ops::Exchange;
using tensor::kInvalidArgument;

// Held by the caller.
Communicator& Find(const ops::Plan& plan, int device) {
  const std::string& name = plan.exchange()->group;
  size_t how_many = 0;
  if (Communicator* found = Communicator::FindNamed(name, device, &how_many)) return *found;
  if (how_many > 1) {
    Fail(
        kInvalidArgument, "op-group-twice",
        "{} communicators of device {} have the name \"{}\" that {} was given as its group; a device is one rank "
        "of it",
        how_many, device, name, plan.function());
  }
  Fail(
      kInvalidArgument, "op-group",
      "no communicator of device {} has the name \"{}\" that {} was given as its group; HcclGetCommName tells it",
      device, name, plan.function());
}

void CheckSizes(const ops::Plan& plan, const Communicator& communicator) {
  const Exchange& e = *plan.exchange();
  if (e.ranks >= 0 && (e.ranks != communicator.ranks() || e.rank != communicator.rank())) {
    Fail(kInvalidArgument, "op-group-rank",
         "{} was called as rank {} of {}, but in group \"{}\" this is rank {} of {}", plan.function(), e.rank,
         e.ranks, e.group, communicator.rank(), communicator.ranks());
  }
  if (e.part * communicator.ranks() == e.whole) return;
  Fail(kInvalidArgument, "op-group-size",
       "{} has {} rows and {} has {}, but group \"{}\" has {} ranks: the second has those of all ranks",
       e.part_name, e.part, e.whole_name, e.whole, e.group, communicator.ranks());
}

// Other ranks write, or read, while the kernel's other tensors have to stay as they are.
void CheckApart(const ops::Plan& plan) {
  if (!plan.exchange()->first || !ops::HasOverlap(plan)) return;
  Fail(kInvalidArgument, "op-exchange-overlap",
       "a result of {} overlaps another of its tensors in memory; give each memory of its own",
       plan.function());
}

// What collectives answer with is no status of an operator.
template <class Body>
void AsOperator(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(tensor::kRuntimeFailure, error.id(), error.sentence());
  }
}

coll::Kind CollectiveOf(Exchange::Kind kind) {
  switch (kind) {
    case Exchange::Kind::kAllReduce:
      return coll::Kind::kAllReduce;
    case Exchange::Kind::kAllGather:
      return coll::Kind::kAllGather;
    case Exchange::Kind::kAllToAll:
      return coll::Kind::kAllToAll;
    case Exchange::Kind::kReduceScatter:
      break;
  }
  return coll::Kind::kReduceScatter;
}

coll::Operation OperationOf(const ops::Plan& plan, void* workspace) {
  const Exchange& e = *plan.exchange();
  const auto at = [&](const Exchange::Place& place) {
    void* base = place.binding < 0 ? workspace : plan.binding(place.binding).address;
    return static_cast<char*>(base) + place.offset;
  };
  coll::Operation o;
  o.kind = CollectiveOf(e.kind);
  o.count = e.count;
  o.type = e.type;
  if (e.count == 0) return o;  // there may be no addresses
  o.send = at(e.from);
  o.receive = at(e.to);
  return o;
}

}  // namespace

void CheckExchange(const ops::Plan& plan) {
  Communicator& communicator = Find(plan, rt::CurrentContext().device().id());
  const struct Held {
    Communicator& communicator;
    ~Held() { communicator.Unref(); }
  } held{communicator};
  CheckSizes(plan, communicator);
}

ExchangeOf::ExchangeOf(const ops::Plan& plan, void* workspace, rt::Stream& stream)
    : first_(plan.exchange()->first),
      stream_(stream),
      communicator_(Find(plan, stream.context().device().id())),
      operation_() {
  try {
    if (coll::InGroup()) {
      Fail(
          kInvalidArgument, "op-in-group",
          "{} was called between HcclGroupStart and HcclGroupEnd, which keep calls of HCCL for later; end the group "
          "first",
          plan.function());
    }
    CheckApart(plan);
    CheckSizes(plan, communicator_);
    AsOperator([&] {
      communicator_.ThrowIfFailed();
      communicator_.RefuseWithoutAll();
    });
    operation_ = OperationOf(plan, workspace);
  } catch (...) {
    communicator_.Unref();
    throw;
  }
}

ExchangeOf::~ExchangeOf() { communicator_.Unref(); }

void ExchangeOf::Submit() {
  AsOperator([&] { coll::Submit(communicator_, stream_, operation_); });
}

}  // namespace belay::api
