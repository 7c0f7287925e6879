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

// The one T of the process, made when first asked for and never destroyed, so that threads may use it
// during exit. A forked child gets a fresh one: the parent's may be locked or half changed.
template <class T>
class PerProcess {
 public:
  static T& Get() {
    T* object = g_object.load(std::memory_order_acquire);
    return object != nullptr ? *object : Make();
  }

 private:
  static T& Make() {
    static const bool hooked = AtForkInChild(&Forget);
    (void)hooked;
    auto fresh = std::make_unique<T>();
    T* first = nullptr;
    if (g_object.compare_exchange_strong(first, fresh.get())) return *fresh.release();
    return *first;
  }
  static void Forget() { g_parents = g_object.exchange(nullptr); }

  inline static constinit std::atomic<T*> g_object{nullptr};
  inline static constinit T* g_parents = nullptr;  // so that leak checkers see that it is known
};

}  // namespace belay
