#include "layers/trace/call_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/quiet_write.h"
#include "layers/trace/timeline.h"

namespace belay::trace {
namespace {

constexpr size_t kMostText = 64;

template <class T, class... Base>
void AddNumber(std::string& out, T value, Base... base) {
  char room[32];
  out.append(room, std::to_chars(room, room + sizeof room, value, base...).ptr);
}

// A number of which so many digits are behind the point, as wide as that.
void AddFixed(std::string& out, uint64_t value, size_t digits, size_t width) {
  char room[32];
  std::string number(room, std::to_chars(room, room + sizeof room, value).ptr);
  if (number.size() <= digits) number.insert(0, digits + 1 - number.size(), '0');
  number.insert(number.size() - digits, 1, '.');
  if (number.size() < width) out.append(width - number.size(), ' ');
  out += number;
}

void AddAddress(std::string& out, uint64_t value) {
  if (value == 0) {
    out += "null";
  } else {
    out += "0x";
    AddNumber(out, value, 16);
  }
}

void AddText(std::string& out, const char* text) {
  out += '"';
  size_t i = 0;
  for (; i < kMostText && text[i] != '\0'; ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  out += text[i] == '\0' ? "\"" : "\"...";
}

const char* NameIn(const BelayName* names, int64_t number) {
  for (; names->name != nullptr; ++names) {
    if (names->number == number) return names->name;
  }
  return nullptr;
}

void AddEnum(std::string& out, const BelayName* names, int64_t number) {
  const char* name = NameIn(names, number);
  if (name != nullptr) {
    out += name;
  } else {
    AddNumber(out, number);
  }
}

template <class T>
T Read(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

class Words {
 public:
  Words(const BelayCalls& calls, ObjectWords objects, bool looks)
      : calls_(calls), objects_(objects), looks_(looks) {}

  // A value, as the letter says.
  void Add(std::string& out, std::string_view letter, uint64_t value) const {
    switch (letter[0]) {
      case 'b':
        out += value != 0 ? "true" : "false";
        return;
      case 'i':
        return AddNumber(out, static_cast<int64_t>(value));
      case 'u':
        return AddNumber(out, value);
      case 'd': {
        double number;
        std::memcpy(&number, &value, sizeof number);
        return AddNumber(out, number);
      }
      case 'e':
        return AddEnum(out, EnumOf(letter), static_cast<int32_t>(value));
      case 'x':
        out += "{...}";
        return;
      default:
        AddPointer(out, letter, value);
    }
  }

 private:
  const BelayName* EnumOf(std::string_view letter) const {
    size_t place = 0;
    std::from_chars(letter.data() + 1, letter.data() + letter.size(), place);
    return calls_.enums[place];
  }

  void AddPointer(std::string& out, std::string_view letter, uint64_t value) const {
    if (letter[0] == 's' && looks_ && value != 0) return AddText(out, reinterpret_cast<const char*>(value));
    AddAddress(out, value);
    if (value == 0 || !looks_) return;
    if (std::strchr("tolqcn", letter[0]) != nullptr) {
      const std::string words = objects_ == nullptr ? ""
                                                    : objects_(letter[0] == 'o'   ? 't'
                                                               : letter[0] == 'q' ? 'l'
                                                                                  : letter[0],
                                                               value);
      if (!words.empty()) out += " " + words;
    } else if (std::strchr("PWQFE", letter[0]) != nullptr) {
      out += " -> ";
      AddResult(out, letter, value);
    }
  }

  void AddResult(std::string& out, std::string_view letter, uint64_t address) const {
    switch (letter[0]) {
      case 'P':
        return AddAddress(out, Read<uint64_t>(address));
      case 'W':
        return AddNumber(out, Read<uint32_t>(address));
      case 'Q':
        return AddNumber(out, Read<uint64_t>(address));
      case 'F':
        return AddNumber(out, Read<float>(address));
      default:
        return AddEnum(out, EnumOf(letter), Read<int32_t>(address));
    }
  }

  const BelayCalls& calls_;
  const ObjectWords objects_;
  const bool looks_;
};

}  // namespace

std::string StatusWords(const BelayCalls& calls, int status) {
  std::string out = std::to_string(status);
  const char* name = status == 0 ? nullptr : NameIn(calls.errors, status);
  if (name != nullptr) out.append(" ").append(name);
  return out;
}

std::string CallWords(const BelayCalls& calls, uint32_t call, uint64_t result, const uint64_t* arguments,
                      ObjectWords objects) {
  const BelayCall& facts = calls.calls[call];
  const std::string_view gives = facts.result;
  const bool fails = gives[0] == 'r' && static_cast<int>(result) != 0;
  const Words words(calls, objects, !fails);
  std::string out = facts.name;
  out += '(';
  std::string_view rest = facts.params;
  for (size_t i = 0; !rest.empty(); ++i) {
    const std::string_view param = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), param.size() + 1));
    const size_t colon = param.find(':');
    if (i > 0) out += ", ";
    out += param.substr(0, colon);
    out += '=';
    words.Add(out, param.substr(colon + 1), arguments[i]);
  }
  out += ')';
  if (gives[0] == 'v') return out;
  out += " = ";
  if (gives[0] == 'r') return out + StatusWords(calls, static_cast<int>(result));
  words.Add(out, gives, result);
  return out;
}

CallLog::CallLog(std::string path)
    : path_(std::move(path)),
      file_(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)),
      process_(getpid()) {
  const char* start = std::getenv("BELAY_CALLS_START");
  start_ = start == nullptr ? 0 : std::strtoull(start, nullptr, 10);
  if (start_ == 0) start_ = Now();
  if (file_ < 0) Stop();
}

CallLog::~CallLog() {
  Trim();
  if (file_ >= 0) close(file_);
}

void CallLog::Stop() {
  const char* why = std::strerror(errno);
  stopped_ = true;
  QuietWrites quiet;
  std::fprintf(stderr, "belay trace: cannot write to %s: %s; the program goes on, what was written stays\n",
               path_.c_str(), why);
}

void CallLog::Unmap() {
  if (map_ != nullptr) munmap(map_, static_cast<size_t>(piece_ - map_) + kPiece);
  map_ = piece_ = nullptr;
}

// Other processes extend the file, too.
bool CallLog::Claim() {
  Unmap();
  std::string empty(kPiece, ' ');
  empty.back() = '\n';
  QuietWrites quiet;
  struct stat facts {};
  if (flock(file_, LOCK_EX) != 0 || fstat(file_, &facts) != 0) return false;
  at_ = static_cast<uint64_t>(facts.st_size);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const size_t before = at_ % page;
  const ssize_t written = pwrite(file_, empty.data(), kPiece, facts.st_size);
  void* map = MAP_FAILED;
  if (written == static_cast<ssize_t>(kPiece)) {
    map = mmap(nullptr, before + kPiece, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
               static_cast<off_t>(at_ - before));
  } else if (written >= 0) {
    errno = ENOSPC;
  }
  const int error = errno;
  if (map == MAP_FAILED && written > 0) (void)!ftruncate(file_, facts.st_size);
  flock(file_, LOCK_UN);
  errno = error;
  if (map == MAP_FAILED) return false;
  map_ = static_cast<char*>(map);
  piece_ = map_ + before;
  used_ = 0;
  return true;
}

void CallLog::Trim() {
  if (process_ != getpid()) return;
  std::lock_guard guard(lock_);
  if (piece_ == nullptr) return;
  QuietWrites quiet;
  struct stat facts {};
  if (flock(file_, LOCK_EX) == 0 && fstat(file_, &facts) == 0 &&
      static_cast<uint64_t>(facts.st_size) == at_ + kPiece) {
    (void)!ftruncate(file_, static_cast<off_t>(at_ + used_));
  }
  flock(file_, LOCK_UN);
  Unmap();
}

void CallLog::Write(const When& when, std::string_view words) {
  std::string line;
  AddFixed(line, (when.begun - std::min(when.begun, start_)) / 1000, 6, 13);
  line += ' ';
  AddFixed(line, (when.ended - when.begun) / 100, 1, 9);
  line += " us ";
  AddNumber(line, when.thread);
  line += ' ';
  line.append(words.substr(0, kPiece / 2)).append("\n");
  std::lock_guard guard(lock_);
  if (stopped_) return;
  if (piece_ != nullptr && used_ + line.size() > kPiece) {
    piece_[used_ - 1] = ' ';  // what is left hangs on the last line
    Unmap();
  }
  if (piece_ == nullptr && !Claim()) return Stop();
  std::memcpy(piece_ + used_, line.data(), line.size());
  used_ += line.size();
}

}  // namespace belay::trace
