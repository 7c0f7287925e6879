#include "base/lane_drawing.h"

#include <gtest/gtest.h>

namespace belay {
namespace {

TEST(LaneDrawing, OneLane) {
  EXPECT_EQ(DrawLanes({"s1"}, {{"copy", 0, {}}, {"add", 0, {}}, {"copy", 0, {}}}),
            "s1  copy ── add ── copy\n");
}

TEST(LaneDrawing, ForkAndJoin) {
  EXPECT_EQ(DrawLanes({"stream 1", "stream 2"},
                      {{"copy", 0, {}}, {"Add", 1, {0}}, {"Mul", 0, {}}, {"Add", 0, {1}}, {"copy", 0, {}}}),
            "stream 1  copy ─┬─ Mul ─┬─ Add ── copy\n"
            "                │       │\n"
            "stream 2        └─ Add ─┘\n");
}

TEST(LaneDrawing, SideLaneLongerThanTheMainOne) {
  EXPECT_EQ(DrawLanes({"a", "b"}, {{"one", 0, {}}, {"two", 1, {0}}, {"three", 1, {}}, {"four", 0, {2}}}),
            "a  one ─┬────────────────┬─ four\n"
            "        │                │\n"
            "b       └─ two ── three ─┘\n");
}

TEST(LaneDrawing, ALineThatPassesOverALaneIsNotJoinedToIt) {
  EXPECT_EQ(DrawLanes({"a", "b", "c"}, {{"x", 0, {}}, {"y", 1, {}}, {"z", 1, {}}, {"w", 2, {0}}}),
            "a  x ─┐\n"
            "      │\n"
            "b  y ─│─ z\n"
            "      │\n"
            "c     └─ w\n");
}

TEST(LaneDrawing, WhatCannotBeDrawnClearlyIsNotDrawn) {
  // The line from x would have to run past y in its own lane and past v in the other.
  EXPECT_EQ(DrawLanes({"a", "b"}, {{"x", 0, {}}, {"y", 0, {}}, {"u", 1, {}}, {"v", 1, {}}, {"w", 1, {0}}}),
            "");
}

TEST(LaneDrawing, WideGraphsAreNotDrawn) {
  EXPECT_EQ(DrawLanes({"a"}, std::vector<LaneStep>(100, {"copy", 0, {}})), "");
}

TEST(LaneDrawing, EmptyGraph) { EXPECT_EQ(DrawLanes({"a"}, {}), ""); }

}  // namespace
}  // namespace belay
