#include "layers/numbers/scan.h"

#include <cstring>

namespace belay::numbers {
namespace {

using tensor::DType;

template <class Word>
constexpr Word kWithoutSign = static_cast<Word>(~Word{0}) >> 1;

// Whether each of a block is less than infinity: added to what it lacks to the sign none gets there. Without
// a branch, so that the compiler takes several at once.
constexpr size_t kBlock = 64;
template <class Word>
bool AreFinite(const char* at, Word infinity) {
  Word words[kBlock];
  std::memcpy(words, at, sizeof words);
  const Word lacks = static_cast<Word>(kWithoutSign<Word> + 1 - infinity);
  Word any = 0;
  for (Word word : words) any |= static_cast<Word>((word & kWithoutSign<Word>)+lacks);
  return (any & ~kWithoutSign<Word>) == 0;
}

// Without their signs infinity is the largest number, and what is larger is none.
template <class Word>
Values ScanWords(const char* at, size_t words, Word infinity, size_t words_of_element) {
  Values values;
  for (size_t i = 0; i < words; ++i) {
    while (i % kBlock == 0 && words - i >= kBlock && AreFinite(at + i * sizeof(Word), infinity)) i += kBlock;
    if (i == words) break;
    Word word;
    std::memcpy(&word, at + i * sizeof word, sizeof word);
    word &= kWithoutSign<Word>;
    if (word < infinity) [[likely]]
      continue;
    if (word > infinity) {
      values.nan = i / words_of_element;
      break;
    }
    values.infinity = true;
  }
  return values;
}

// How an element lies in memory: its words, and the one that is infinity.
struct Form {
  size_t bytes_of_word = 0;  // 0: it is not looked at
  uint64_t infinity = 0;
  size_t words = 1;
};

Form FormOf(DType type) {
  switch (type) {
    case DType::kF16:
      return {2, 0x7c00};
    case DType::kBF16:
      return {2, 0x7f80};
    case DType::kF32:
      return {4, 0x7f800000};
    case DType::kF64:
      return {8, 0x7ff0000000000000};
    case DType::kC32:
      return {2, 0x7c00, 2};
    case DType::kC64:
      return {4, 0x7f800000, 2};
    case DType::kC128:
      return {8, 0x7ff0000000000000, 2};
    default:
      return {};
  }
}

}  // namespace

size_t BytesOfScanned(DType type) {
  const Form form = FormOf(type);
  return form.bytes_of_word * form.words;
}

Values Scan(const void* begin, size_t bytes, DType type) {
  const Form form = FormOf(type);
  const auto scan = [&]<class Word>(Word infinity) {
    return ScanWords(static_cast<const char*>(begin), bytes / sizeof(Word), infinity, form.words);
  };
  switch (form.bytes_of_word) {
    case 2:
      return scan(static_cast<uint16_t>(form.infinity));
    case 4:
      return scan(static_cast<uint32_t>(form.infinity));
    case 8:
      return scan(form.infinity);
    default:
      return {};
  }
}

}  // namespace belay::numbers
