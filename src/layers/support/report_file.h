// How reports are written down for those who read them when the program has ended: one line a record, its
// words with tabs between them.
//
//   report <kind> <message> <mend> <process>
//   place <role> [<spot>]      the one to look at first comes first; its spot in the history (history.h)
//   frame <file> <line> <function>
//   end
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace belay::layers {

inline constexpr const char* kSuppressVariable = "BELAY_CHECK_SUPPRESS";    // what is not told
inline constexpr const char* kLeaksVariable = "BELAY_CHECK_LEAKS";          // set: leaks are told
inline constexpr const char* kNotesVariable = "BELAY_CHECK_NOTES";          // set: waits for nothing are told
inline constexpr const char* kUndefinedVariable = "BELAY_CHECK_UNDEFINED";  // set: undefined bytes are told
// Set: loads and stores are looked at; as long as that takes a small part of the time, or whatever it takes.
inline constexpr const char* kHostVariable = "BELAY_CHECK_HOST";
inline constexpr const char* kHostSome = "some";
inline constexpr const char* kHostAll = "all";
inline constexpr const char* kHangAfterVariable = "BELAY_CHECK_HANG_AFTER";  // seconds without progress
inline constexpr const char* kHangExitVariable = "BELAY_CHECK_HANG_EXIT";  // the code of a process that hangs

inline void AddWord(std::string* record, std::string_view word) {
  if (!record->empty() && record->back() != '\n') *record += '\t';
  for (char c : word) *record += c == '\t' || c == '\n' ? ' ' : c;
}

inline void AddWords(std::string* record, std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) AddWord(record, word);
}

inline void AddLine(std::string* text, std::initializer_list<std::string_view> words) {
  AddWords(text, words);
  *text += '\n';
}

inline std::vector<std::string> SplitRecord(std::string_view line) {
  std::vector<std::string> words;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = line.find('\t', at);
    words.emplace_back(line.substr(at, end - at));
    if (end == std::string_view::npos) break;
    at = end + 1;
  }
  return words;
}

}  // namespace belay::layers
