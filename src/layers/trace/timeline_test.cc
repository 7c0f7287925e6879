// What a thread writes, as readers of the format take it.
#include "layers/trace/timeline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace belay::trace {
namespace {

// The fields of a message: numbers, and the bytes of what lies within.
struct Message {
  std::map<uint32_t, std::vector<uint64_t>> numbers;
  std::map<uint32_t, std::vector<std::string>> texts;
};

Message Read(const std::string& bytes) {
  Message message;
  size_t at = 0;
  auto number = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      EXPECT_LT(shift, 70) << "no reader takes more than ten bytes";
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.size()) {
    const uint64_t tag = number();
    const auto field = static_cast<uint32_t>(tag >> 3);
    uint64_t value = 0;
    if ((tag & 7) == 0) message.numbers[field].push_back(number());
    if ((tag & 7) == 1) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
      at += sizeof value;
      message.numbers[field].push_back(value);
    }
    if ((tag & 7) == 2) {
      const size_t inner = number();
      message.texts[field].push_back(bytes.substr(at, inner));
      at += inner;
    }
    EXPECT_LT(tag & 7, 3u);
    EXPECT_LE(at, bytes.size());
  }
  return message;
}

using Numbers = std::vector<uint64_t>;

TEST(Timeline, EventsAreWhatTheyWere) {
  std::string path = testing::TempDir() + "belay-timeline-XXXXXX";
  close(mkstemp(path.data()));
  std::mt19937_64 random(3);
  auto some = [&] { return random() >> random() % 64; };  // of any length
  struct Event {
    EventType type;
    uint64_t time, track, name;
    Numbers flows;
    uint64_t last;
  };
  std::vector<Event> events;
  {
    Timeline timeline(path);
    Writer& writer = timeline.ThisWriter();
    for (int i = 0; i < 5000; ++i) {
      const uint64_t name = i % 3 == 0 ? 0 : some() >> 36;
      Numbers flows;
      for (int arrows = i % 7 == 0 ? 4 : i % 5 == 0 ? 1 : 0; arrows > 0; --arrows) flows.push_back(some());
      Event event{EventType(1 + i % 3), some() >> 1, some(), name, flows, i % 4 == 0 ? some() : 0};
      Track track{event.track};
      if (flows.size() == 4) {
        writer.Event(event.type, &track, event.time, name, {flows[0], flows[1], flows[2], flows[3]},
                     event.last);
      } else if (flows.size() == 1) {
        writer.Event(event.type, &track, event.time, name, {flows[0]}, event.last);
      } else {
        writer.Event(event.type, &track, event.time, name, {}, event.last);
      }
      event.time = track.last;
      events.push_back(std::move(event));
    }
  }
  std::ifstream in(path, std::ios::binary);
  size_t at = 0;
  Message file = Read({std::istreambuf_iterator<char>(in), {}});
  for (const std::string& bytes : file.texts[1]) {
    Message packet = Read(bytes);
    if (packet.texts[fields::kTrackEvent].empty()) continue;
    ASSERT_LT(at, events.size());
    const Event& event = events[at++];
    EXPECT_EQ(packet.numbers[fields::kTimestamp], Numbers{event.time});
    EXPECT_EQ(packet.numbers[fields::kSequence], Numbers{1});
    EXPECT_EQ(packet.numbers[fields::kSequenceFlags], event.name == 0 ? Numbers{} : Numbers{2});
    Message told = Read(packet.texts[fields::kTrackEvent].at(0));
    EXPECT_EQ(told.numbers[fields::kEventType], Numbers{static_cast<uint64_t>(event.type)});
    EXPECT_EQ(told.numbers[fields::kEventTrack], Numbers{event.track});
    EXPECT_EQ(told.numbers[fields::kEventName], event.name == 0 ? Numbers{} : Numbers{event.name});
    EXPECT_EQ(told.numbers[fields::kEventFlows], event.flows);
    EXPECT_EQ(told.numbers[fields::kEventLastFlows], event.last == 0 ? Numbers{} : Numbers{event.last});
  }
  EXPECT_EQ(at, events.size());
  unlink(path.c_str());
}

// More of them than there is room for, so that they push each other out.
TEST(Timeline, TextsThatStayHaveTheNumbersOfTheirWords) {
  std::string path = testing::TempDir() + "belay-timeline-XXXXXX";
  close(mkstemp(path.data()));
  Timeline timeline(path);
  Writer& writer = timeline.ThisWriter();
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back("operator " + std::to_string(i));
  for (int round = 0; round < 2; ++round) {
    for (const std::string& text : texts) {
      const uint64_t number = writer.NumberOfStaying(text.c_str());
      EXPECT_EQ(number, writer.NumberOf(text));
      EXPECT_EQ(number, writer.NumberOfStaying(text.c_str()));
    }
  }
  const std::string same = texts[0];
  EXPECT_EQ(writer.NumberOfStaying(same.c_str()), writer.NumberOfStaying(texts[0].c_str()));
  EXPECT_NE(writer.NumberOfStaying(texts[0].c_str()), writer.NumberOfStaying(texts[1].c_str()));
  unlink(path.c_str());
}

// Behind any number of other bytes, in any number of bytes that is enough.
TEST(WordWriter, PutsNumbersBehindEachOther) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20'000; ++round) {
    const auto before = static_cast<unsigned>(8 + random() % 8);
    const uint64_t value = random() >> random() % 64;
    const auto least = static_cast<unsigned>(Packet::BytesOf(value));
    const auto bytes = static_cast<unsigned>(least + random() % (11 - least));
    const uint64_t last = random() >> (43 + random() % 21);
    char room[64] = {};
    WordWriter words(room);
    words.Add(9 << 3, 1);
    words.Padded(1, before - 4 > 10 ? 10 : before - 4);
    words.Add(8 << 3, 1);
    words.Padded(value, bytes);
    words.End(10, last, static_cast<unsigned>(Packet::BytesOf(last)));
    const uint64_t first = words.first();
    std::memcpy(room, &first, sizeof first);
    std::string all(room, sizeof room);
    all.resize((all.find_last_not_of('\0') + 8) / 8 * 8);
    Message message = Read(all);
    ASSERT_EQ(message.numbers[9], Numbers{1});
    ASSERT_EQ(message.numbers[8], Numbers{value}) << bytes;
    ASSERT_EQ(message.numbers[10], Numbers{last});
  }
}

}  // namespace
}  // namespace belay::trace
