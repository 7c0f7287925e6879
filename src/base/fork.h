// What a forked child has to put in order at once: locks that a thread of the parent may have held at
// the moment of the fork. That thread does not exist in the child and will never release them.
#pragma once

#include <atomic>
#include <memory>

namespace belay {

// Adds a hook that runs in the child before fork returns there. Hooks only reset: they take no lock and
// call nothing of the system. Returns true, for use in static initialisation.
bool AtForkInChild(void (*hook)());

// The same for handle tables whose objects the child keeps.
template <auto&... tables>
bool UnlockInChild() {
  return AtForkInChild([] { (tables.UnlockInChild(), ...); });
}

// Makes each PerProcess of this library or program that is not there yet. Throws std::bad_alloc.
void MakeAllPerProcess();
// Notes one of them; for use in static initialisation.
bool NotePerProcess(void (*make)());

// The one T of the process, made when the runtime starts, or when it is asked for before that, and never
// destroyed, so that threads may use it during exit. A forked child gets a fresh one: the parent's may be
// locked or half changed. It is not made when it is first needed, for that may be in a function that frees
// something, or in a destructor, which must not ask for memory.
template <class T>
class PerProcess {
 public:
  static T& Get() {
    (void)kNoted;
    Holder* holder = g_holder.load(std::memory_order_acquire);
    return holder != nullptr ? holder->object : Make();
  }

 private:
  struct Holder {
    T object;
    Holder* parents = nullptr;  // kept, so that leak checkers see that it is known
  };

  static T& Make() {
    auto fresh = std::make_unique<Holder>();
    fresh->parents = g_parents;
    Holder* first = nullptr;
    if (g_holder.compare_exchange_strong(first, fresh.get())) return fresh.release()->object;
    return first->object;
  }
  static void Forget() {
    if (Holder* parents = g_holder.exchange(nullptr)) g_parents = parents;
  }

  inline static const bool kNoted = AtForkInChild(&Forget) && NotePerProcess([] { Get(); });
  inline static constinit std::atomic<Holder*> g_holder{nullptr};
  inline static constinit Holder* g_parents = nullptr;
};

}  // namespace belay
