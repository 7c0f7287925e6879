// The ways to a communicator.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collective/communicator.h"
#include "collective/group.h"
#include "collective/root_info.h"

namespace belay::coll {

// What the environment says, and HcclSetConfig.
CommunicatorConfig DefaultConfig();
// Of the process; -1: not set.
void SetDeterministic(int value);
int DeterministicNow();

// Each waits until all ranks are there, unless a group is open (group.h). `device` is a number of this
// process.
void JoinByRootInfo(const RootInfo& root, uint32_t rank, uint32_t ranks, int device,
                    CommunicatorConfig config, const Made& made);
// All meet at the first of these; whoever made others (StartOneOfSeveral) ends them here.
void JoinByRootInfos(std::span<const RootInfo> roots, uint32_t rank, uint32_t ranks, int device,
                     CommunicatorConfig config, const Made& made);
void JoinByRankTable(const std::string& path, uint32_t rank, int device, CommunicatorConfig config,
                     const Made& made);
void JoinPart(const Communicator& whole, std::span<const uint32_t> ranks, uint64_t part, uint32_t rank,
              CommunicatorConfig config, const Made& made);
// A meeting point of which the group may have several.
RootInfo StartOneOfSeveral();
// One for each device, in this process.
std::vector<Communicator*> JoinAll(std::span<const int32_t> devices, const CommunicatorConfig& config);

}  // namespace belay::coll
