// What one thread of a program does: random small pieces of work with every part of the interface, and a
// check of their results. Under a bad weather a call may fail, with a documented code; a piece of which no
// call has failed must have the right result all the same. Under a good weather no call may fail.
#pragma once

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <ge/ge_api.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace chaos {

// What all threads use; made once, under a good weather.
struct Stage {
  std::string program;            // path of this program, to start peers
  std::vector<char> model;        // a compiled model: y = relu(x + 1) over 64 floats
  std::vector<ge::Graph> graphs;  // the same, as a graph
  std::atomic<bool> fair{true};
  std::atomic<uint64_t> pieces{0}, failed_calls{0};
};

// Ends the program with the words.
[[noreturn]] void Die(const std::string& words);

class Scene {
 public:
  Scene(Stage& stage, uint64_t seed) : stage_(stage), random_(seed) {}

  // One piece of work at random; or each of them once.
  void Act();
  void ActAll();

 private:
  using Piece = void (Scene::*)();
  static const std::vector<Piece>& Pieces();
  static const std::vector<Piece>& SlowPieces();

  void Copies();
  void Captures();
  void Callbacks();
  void Notifies();
  void Operators();
  void Sorts();
  void SingleOperators();
  void Models();
  void Sessions();
  void Blocks();
  void Exports();
  void Nonsense();
  void Forks();
  void Peers();

  void Do(Piece piece);
  void Begin(const char* piece);
  void CleanUp();
  void Lost();
  // Null when the call has failed; otherwise it goes with this piece of work.
  void* NewBlock(size_t bytes);
  aclrtStream NewStream();
  aclrtEvent NewEvent();
  aclrtNotify NewNotify();
  aclTensor* NewTensor(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                       aclDataType type, void* data);
  void Write(float* to, const std::vector<float>& values);
  aclDataBuffer* NewBuffer(void* data, size_t bytes);

  // Notes what a call gave; true for success.
  bool Ok(const char* call, int code);
  void Expect(bool right, const char* what);
  // Waits for the stream; what does not end in good time is told.
  void Settle(aclrtStream stream);
  uint64_t Random(uint64_t below) { return random_() % below; }

  Stage& stage_;
  std::mt19937_64 random_;
  const char* piece_ = "";
  bool failed_ = false;  // some call of this piece
  struct {
    std::vector<void*> blocks;
    std::vector<aclrtStream> streams;
    std::vector<aclrtEvent> events;
    std::vector<aclrtNotify> notifies;
    std::vector<aclTensor*> tensors;
    std::vector<aclDataBuffer*> buffers;
  } own_;  // what this piece has made
};

// The other process of Scene::Peers: uses what the keys name until it is killed, or for a while.
int PeerMain(int argc, char** argv);

}  // namespace chaos
