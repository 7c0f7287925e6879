// The meeting point of a group of ranks: what HcclGetRootInfo starts in the process of one of them. It waits
// for all, makes the memory that they share, and then tells the others when one ends. Parts of the group
// (HcclCreateSubCommConfig) meet here, too.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "collective/root_info.h"
#include "collective/watch.h"
#include "collective/wire.h"

namespace belay::coll {

class Root final : public Watched {
 public:
  // On sockets as the environment says. Throws.
  static RootInfo Start(std::shared_ptr<Root>* started = nullptr);
  // Where everybody knows it already. False when somebody has the name.
  static bool StartAt(const RootInfo& known);

  Root(const RootInfo& info, Descriptor local, Descriptor tcp);
  ~Root() override;

  void Ask(Files* to) override;
  bool Look(std::span<const pollfd> came) override;
  int64_t deadline_ns() const override;

 private:
  struct Group;
  // Whoever has come. Unknown (without a group) until it has said hello.
  struct Guest {
    Descriptor socket;
    Descriptor process_end;  // readable when its process ends: a forked child may keep the socket open
    bool is_local = false;
    bool gone = false;
    int64_t since_ns = 0;
    Inbox inbox{kHelloBytes};
    Group* group = nullptr;
    uint32_t rank = 0;
    int32_t process = 0;
    int32_t device = 0;
    Claim claim;
    Id host{};
    Place place;
    WayKind way = WayKind::kUnsaid;
    uint32_t by_rank = 0;
  };
  struct Group {
    Id key{};
    uint32_t ranks = 0;
    bool formed = false;
    int64_t first_ns = 0;     // when the first came
    int64_t deadline_ns = 0;  // of the most impatient
    int64_t patience_ns = 0;  // of the same
    uint64_t staging_bytes = 0;
    std::vector<Guest*> members;  // by rank; null: not come, or gone
  };

  // A part whose lists differed, for the ranks that have not come for it yet: each is told once.
  struct FailedPart {
    Id key{};
    Claim to_come;
    Refused why;
    int64_t until_ns = 0;
  };

  bool LookAtAll(std::span<const pollfd> came);
  bool HasRoom(bool is_local) const;
  void Accept(const Descriptor& listener, bool is_local);
  void Hear(Guest& guest);
  void Obey(Guest& guest, const Inbox::Message& message);
  void Admit(Guest& guest, const Hello& hello);
  bool MayCome(Guest& guest, const Hello& hello);
  Group* GroupFor(Guest& guest, const Hello& hello);
  bool HasFailedBefore(Guest& guest, const Hello& hello);
  bool ClaimsOtherwise(const Guest& guest, Group& group);
  void Form(Group& group);
  void Welcome(Group& group);
  Welcomed WhoAreThere(const Group& group) const;
  Descriptor ListenFor(const Group& group, Welcomed* who) const;
  void Part(Guest& guest, EventKind how);
  void Lose(Guest& guest);
  void Refuse(Guest& guest, int code, const std::string& sentence);
  void RefuseAll(Group& group, int code, const std::string& sentence);
  // All but the ranks of the whole that are told already.
  void KeepForTheLate(const Group& group, const Claim& of_all, const Refused& why,
                      std::span<const uint64_t> told);
  void CheckTime();
  void Sweep();
  std::string Missing(const Group& group) const;

  const RootInfo info_;
  const Id host_;
  Descriptor local_;
  Descriptor tcp_;
  bool used_ = false;  // the group of the root info has met, or failed to
  std::optional<Refused> failure_;
  int64_t stays_until_ns_ = 0;  // to tell that to those who come late
  std::list<Guest> guests_;
  std::list<Group> groups_;
  std::vector<FailedPart> failed_parts_;
};

}  // namespace belay::coll
