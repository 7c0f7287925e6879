// The kinds of mistakes that layers tell of. Each has a section in docs/check.md, whose anchor is the id.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace belay::layers {

struct Kind {
  std::string_view id;
  std::string_view title;
  std::string_view meaning;
  bool note = false;  // told, and no mistake for certain
};

inline constexpr Kind kKinds[] = {
    {"race", "Two accesses to the same bytes that nothing orders",
     "One of two accesses to overlapping bytes is a write, and no wait, event or edge of a graph orders them. On a card they "
     "run at the same time, or in the other order, in some run."},
    {"free-while-used", "Memory is freed while a task uses it",
     "A block is freed while a task that touches it was submitted and the host does not know it to be over. A free waits for "
     "nothing."},
    {"destroy-while-used", "A model or a communicator is destroyed while it is used",
     "A loaded model is unloaded, or a captured one or a communicator destroyed, while an execution or operation of it was "
     "submitted and the host does not know it to be over."},
    {"given-up", "Bytes are used that a stream was given up before it wrote",
     "A task of a stream was to write bytes, and the stream was destroyed by force or aborted when the host did not know it "
     "to be over. What is there nobody knows."},
    {"use-after-free", "Freed memory is used",
     "A call gives the address of a block that was freed, or launches a model that was captured with one."},
    {"beyond-end", "An access runs over the end of its block",
     "A copy, a fill or a tensor begins in a block and ends behind its end."},
    {"double-free", "Memory is freed twice", "A block is freed that was freed already."},
    {"bad-free", "What is freed is no block of this kind",
     "What is freed is no start of a block, was allocated by the other kind of function, or by none."},
    {"host-memory-on-device", "Host memory is given to the device",
     "An operator, or what else runs on the device, is given host memory."},
    {"invalid-address", "An address where no memory is",
     "A call is given an address where no block is and none was."},
    {"short-workspace", "A workspace is too small",
     "The second stage of an operator is given a smaller workspace than its first stage asked for."},
    {"use-after-destroy", "A destroyed object is used",
     "A stream, an event, a notify or a model is used that was destroyed."},
    {"wrong-context", "A stream or a model of another context or device is used",
     "A call uses a stream of a context that is not current, or a model on a stream of another device."},
    {"spoiled-capture", "A call spoils a capture",
     "A call is made during a capture that cannot be part of it: the capture has failed from here on, and says so at its end."},
    {"wait-in-callback", "A callback waits",
     "A function that a stream calls waits in a call of the runtime, while its stream waits for the function to return."},
    {"hang", "Work waits for what never comes",
     "Streams wait for each other in a circle, or for a record, a notify, a value or a callback that no thread is left to "
     "bring about."},
    {"undefined-bytes", "Bytes are used that nothing has written",
     "A copy to the host or an operator reads device memory of which not one byte was written since it was allocated."},
    {"leak", "Memory is not freed", "A block was still allocated when the program ended its device."},
    {"never-destroyed", "Objects are left behind",
     "Datasets, data buffers, descriptions or loaded models were not destroyed when the program ended the runtime's use.",
     true},
    {"results-overlap", "Two results of an operator share memory",
     "Two results of one call share elements, so that one of them is lost there.", true},
    {"wait-before-record", "A stream waits for an event that was not recorded",
     "A stream is told to wait for an event from aclrtCreateEventExWithFlag of which there is no record: it does not wait.",
     true},
    {"nothing-awaited", "A synchronisation orders nothing",
     "A place of the program synchronises, and each time there was nothing that it had not waited for before.",
     true},
    {"first-nan", "An operator makes a NaN",
     "A result of an operator holds a NaN, and nothing that it reads held one.", true},
};

constexpr bool IsNote(std::string_view id) {
  for (const Kind& kind : kKinds) {
    if (kind.id == id) return kind.note;
  }
  return false;
}

// "USE AFTER FREE": how a kind is called where it is told, and its section.
inline std::string HeadingOf(std::string_view kind) {
  std::string text(kind);
  for (char& c : text) c = c == '-' ? ' ' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Where that section is.
inline std::string PageOf(std::string_view kind) { return "docs/check.md#" + std::string(kind); }

// The id of a kind that there is: another one does not compile.
struct KindId {
  std::string_view id;
  consteval KindId(const char* text) : id(text) {
    bool known = false;
    for (const Kind& kind : kKinds) known = known || kind.id == id;
    if (!known) throw "no such kind of mistake";
  }
  constexpr operator std::string_view() const { return id; }
};

}  // namespace belay::layers
