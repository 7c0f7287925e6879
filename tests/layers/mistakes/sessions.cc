// Graphs of the C++ interface: what they read comes too late, what they write is used too early.
#include <all_ops.h>
#include <ge/ge_api.h>

#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <vector>

#include "mistakes.h"

using namespace mistakes;

namespace {

#define GE_OK(call) OK((call) == ge::SUCCESS ? ACL_SUCCESS : 1)

ge::TensorDesc Desc() { return ge::TensorDesc(ge::Shape({kBytes / 4}), ge::FORMAT_ND, ge::DT_FLOAT); }

// y = relu(x)
ge::Graph OneOperator() {
  ge::Graph graph("one_operator");
  ge::op::Data x("x");
  x.set_attr_index(0);
  x.update_input_desc_x(Desc());
  x.update_output_desc_y(Desc());
  auto relu = ge::op::Relu("relu").set_input_x(x);
  graph.SetInputs({x}).SetOutputs({relu});
  return graph;
}

// The memory stays the program's.
std::vector<ge::Tensor> TensorOn(void* block, ge::Placement placement) {
  ge::TensorDesc desc = Desc();
  desc.SetPlacement(placement);
  ge::Tensor tensor(desc);
  tensor.SetData(static_cast<uint8_t*>(block), kBytes, [](uint8_t*) {});
  return {tensor};
}

class Session {
 public:
  Session() {
    using Options = std::map<ge::AscendString, ge::AscendString>;
    GE_OK(ge::GEInitialize(Options{{"ge.exec.deviceId", "0"}, {"ge.graphRunMode", "0"}}));
    session_ = std::make_unique<ge::Session>(Options());
    GE_OK(session_->AddGraph(0, OneOperator()));
    GE_OK(session_->CompileGraph(0));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    OK(aclrtSynchronizeDevice());
    session_.reset();
    GE_OK(ge::GEFinalize());
  }

  // Returns what it has written.
  std::vector<ge::Tensor> Run(void* from, void* to, aclrtStream stream) {
    std::vector<ge::Tensor> results;
    if (to != nullptr) results = TensorOn(to, ge::kPlacementDevice);
    GE_OK(session_->RunGraphWithStreamAsync(0, stream, TensorOn(from, ge::kPlacementDevice), results));
    return results;
  }
  void RunOnHost(void* from) {
    std::vector<ge::Tensor> results;
    GE_OK(session_->RunGraph(0, TensorOn(from, ge::kPlacementHost), results));
    std::memcpy(host, results[0].GetData(), kBytes);
  }
  void RunOnHostLater(void* from, std::promise<void>* done) {
    GE_OK(session_->RunGraphAsync(0, TensorOn(from, ge::kPlacementHost),
                                  [done](ge::Status status, std::vector<ge::Tensor>& results) {
                                    GE_OK(status);
                                    std::memcpy(host, results[0].GetData(), kBytes);
                                    done->set_value();
                                  }));
  }

 private:
  std::unique_ptr<ge::Session> session_;
};

}  // namespace

MISTAKE(TheInputOfASessionsGraphIsNotThereYet, "race") {
  Session session;
  Fill(x, b);  // [1]
  if (mended) Link(b, a);
  session.Run(x, y, a);  // [2]
}

MISTAKE(TheResultOfASessionsGraphIsReadTooEarly, "race") {
  Session session;
  session.Run(x, y, a);  // [1]
  if (mended) Link(a, b);
  Copy(z, y, b);  // [2]
}

// Memory of the session's.
MISTAKE(WhatASessionHasAllocatedIsReadTooEarly, "race") {
  Session session;
  std::vector<ge::Tensor> results = session.Run(x, nullptr, a);  // [1]
  if (mended) Wait(a);
  Read(results[0].GetData());  // [2]
  Wait(a);
}

MISTAKE(TheInputOfASessionsGraphIsFreedAtOnce, "free-while-used") {
  Session session;
  void* block = NewBlock();
  session.Run(block, y, a);  // [2]
  if (mended) Wait(a);
  Free(block);  // [1]
}

MISTAKE(AGraphRunsOnWhatIsBeingDownloaded, "race") {
  Session session;
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  session.RunOnHost(pinned);  // [2]
}

// The inputs are copied when it is called.
MISTAKE(AGraphIsToRunOnWhatIsBeingDownloaded, "race") {
  Session session;
  std::promise<void> done;
  Copy(pinned, x, a);  // [1]
  if (mended) Wait(a);
  session.RunOnHostLater(pinned, &done);  // [2]
  done.get_future().wait();
}
