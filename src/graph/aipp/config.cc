#include "graph/aipp/config.h"

#include <cmath>
#include <variant>

#include "base/error.h"
#include "base/number.h"
#include "base/whole_file.h"
#include "graph/codes.h"

namespace belay::graph {
namespace {

using ops::ImageFormat;
using Field = std::variant<bool*, int32_t*, float*>;

// A key with a number or a truth value, and what it may be.
struct Key {
  const char* name;
  double least, most;
  Field (*field)(AippConfig& config);
};

#define BELAY_AIPP_KEY(name, least, most, member)                       \
  Key {                                                                 \
    name, least, most, [](AippConfig& c) -> Field { return &c.member; } \
  }
constexpr double kMostHalf = 65504;
const Key kKeys[] = {
    BELAY_AIPP_KEY("related_input_rank", 0, 1e6, related_input),
    BELAY_AIPP_KEY("max_src_image_size", 0, 2147483647, max_image_bytes),
    BELAY_AIPP_KEY("src_image_size_w", 0, 4096, source.w),
    BELAY_AIPP_KEY("src_image_size_h", 0, 4096, source.h),
    BELAY_AIPP_KEY("csc_switch", 0, 1, source.convert),
    BELAY_AIPP_KEY("rbuv_swap_switch", 0, 1, source.swap_rb),
    BELAY_AIPP_KEY("ax_swap_switch", 0, 1, source.swap_ax),
    BELAY_AIPP_KEY("single_line_mode", 0, 1, single_line),
    BELAY_AIPP_KEY("crop", 0, 1, region.crop),
    BELAY_AIPP_KEY("load_start_pos_w", 0, 4095, region.crop_x),
    BELAY_AIPP_KEY("load_start_pos_h", 0, 4095, region.crop_y),
    BELAY_AIPP_KEY("crop_size_w", 0, 4096, region.crop_w),
    BELAY_AIPP_KEY("crop_size_h", 0, 4096, region.crop_h),
    BELAY_AIPP_KEY("resize", 0, 1, resize),
    BELAY_AIPP_KEY("padding", 0, 1, region.padding),
    BELAY_AIPP_KEY("left_padding_size", 0, 32, region.left),
    BELAY_AIPP_KEY("right_padding_size", 0, 32, region.right),
    BELAY_AIPP_KEY("top_padding_size", 0, 32, region.top),
    BELAY_AIPP_KEY("bottom_padding_size", 0, 32, region.bottom),
    BELAY_AIPP_KEY("padding_value", -kMostHalf, kMostHalf, region.padding_value),
    BELAY_AIPP_KEY("matrix_r0c0", -32768, 32767, source.matrix[0]),
    BELAY_AIPP_KEY("matrix_r0c1", -32768, 32767, source.matrix[1]),
    BELAY_AIPP_KEY("matrix_r0c2", -32768, 32767, source.matrix[2]),
    BELAY_AIPP_KEY("matrix_r1c0", -32768, 32767, source.matrix[3]),
    BELAY_AIPP_KEY("matrix_r1c1", -32768, 32767, source.matrix[4]),
    BELAY_AIPP_KEY("matrix_r1c2", -32768, 32767, source.matrix[5]),
    BELAY_AIPP_KEY("matrix_r2c0", -32768, 32767, source.matrix[6]),
    BELAY_AIPP_KEY("matrix_r2c1", -32768, 32767, source.matrix[7]),
    BELAY_AIPP_KEY("matrix_r2c2", -32768, 32767, source.matrix[8]),
    BELAY_AIPP_KEY("output_bias_0", 0, 255, source.output_bias[0]),
    BELAY_AIPP_KEY("output_bias_1", 0, 255, source.output_bias[1]),
    BELAY_AIPP_KEY("output_bias_2", 0, 255, source.output_bias[2]),
    BELAY_AIPP_KEY("input_bias_0", 0, 255, source.input_bias[0]),
    BELAY_AIPP_KEY("input_bias_1", 0, 255, source.input_bias[1]),
    BELAY_AIPP_KEY("input_bias_2", 0, 255, source.input_bias[2]),
    BELAY_AIPP_KEY("mean_chn_0", 0, 255, region.mean[0]),
    BELAY_AIPP_KEY("mean_chn_1", 0, 255, region.mean[1]),
    BELAY_AIPP_KEY("mean_chn_2", 0, 255, region.mean[2]),
    BELAY_AIPP_KEY("mean_chn_3", 0, 255, region.mean[3]),
    BELAY_AIPP_KEY("min_chn_0", 0, 255, region.least[0]),
    BELAY_AIPP_KEY("min_chn_1", 0, 255, region.least[1]),
    BELAY_AIPP_KEY("min_chn_2", 0, 255, region.least[2]),
    BELAY_AIPP_KEY("min_chn_3", 0, 255, region.least[3]),
    BELAY_AIPP_KEY("var_reci_chn_0", -kMostHalf, kMostHalf, region.factor[0]),
    BELAY_AIPP_KEY("var_reci_chn_1", -kMostHalf, kMostHalf, region.factor[1]),
    BELAY_AIPP_KEY("var_reci_chn_2", -kMostHalf, kMostHalf, region.factor[2]),
    BELAY_AIPP_KEY("var_reci_chn_3", -kMostHalf, kMostHalf, region.factor[3]),
};
#undef BELAY_AIPP_KEY

struct FormatName {
  const char* name;
  ImageFormat format;
};
constexpr FormatName kFormats[] = {{"YUV420SP_U8", ImageFormat::kYuv420sp},
                                   {"XRGB8888_U8", ImageFormat::kXrgb8888},
                                   {"RGB888_U8", ImageFormat::kRgb888},
                                   {"YUV400_U8", ImageFormat::kYuv400}};

// Words, numbers, quoted text and the marks : { }, with comments left out.
class Reader {
 public:
  Reader(std::string_view text, const std::string& what) : text_(text), what_(what) { Skip(); }

  bool at_end() const { return text_.empty(); }
  [[noreturn]] void Refuse(const std::string& reason) const {
    Fail(kGraphInvalid, "aipp-config", "{}:{}: {}", what_, line_, reason);
  }
  bool Take(char mark) {
    if (text_.empty() || text_.front() != mark) return false;
    Advance(1);
    Skip();
    return true;
  }
  void Need(char mark) {
    if (!Take(mark)) Refuse(fmt::format("'{}' is missing", mark));
  }
  std::string Word() {
    size_t quote = !text_.empty() && (text_.front() == '"' || text_.front() == '\'') ? 1 : 0;
    size_t end = quote != 0 ? text_.find(text_.front(), 1) : text_.find_first_of(" \t\r\n:{}#,;\"'");
    if (quote != 0 && end == std::string_view::npos) Refuse("a quotation mark is missing");
    std::string word(text_.substr(quote, end == std::string_view::npos ? end : end - quote));
    if (word.empty()) Refuse("a word is missing");
    Advance(word.size() + 2 * quote);
    Skip();
    return word;
  }

 private:
  void Advance(size_t count) { text_.remove_prefix(count); }
  void Skip() {
    while (!text_.empty()) {
      char c = text_.front();
      if (c == '#') {
        Advance(std::min(text_.find('\n'), text_.size()));
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ';') {
        line_ += c == '\n';
        Advance(1);
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  const std::string& what_;
  int line_ = 1;
};

double NumberOf(const Reader& reader, const std::string& key, const std::string& word) {
  if (word == "true") return 1;
  if (word == "false") return 0;
  const auto value = NumberIn<double>(word);
  if (!value) reader.Refuse(fmt::format("{} has the value '{}', which is no number", key, word));
  return *value;
}

struct Assign {
  double value;
  bool operator()(bool* to) const { return *to = value != 0, value == 0 || value == 1; }
  bool operator()(int32_t* to) const { return *to = static_cast<int32_t>(value), value == std::floor(value); }
  bool operator()(float* to) const { return *to = static_cast<float>(value), true; }
};

void SetFormat(const Reader& reader, AippConfig& config, const std::string& word) {
  for (const FormatName& format : kFormats) {
    if (word == format.name) config.source.format = format.format;
  }
  if (config.source.format != ImageFormat::kNone) return;
  reader.Refuse(fmt::format(
      "input_format {} is not supported; it is YUV420SP_U8, XRGB8888_U8, RGB888_U8 or YUV400_U8", word));
}

void SetKey(const Reader& reader, AippConfig& config, const std::string& key, const std::string& word) {
  if (key == "aipp_mode") {
    if (word != "static" && word != "dynamic")
      reader.Refuse(fmt::format("aipp_mode is '{}'; it is static or dynamic", word));
    config.dynamic = word == "dynamic";
    return;
  }
  if (key == "input_format") return SetFormat(reader, config, word);
  if (key == "related_input_name") return void(config.related_name = word);
  for (const Key& known : kKeys) {
    if (key != known.name) continue;
    double value = NumberOf(reader, key, word);
    if (value >= known.least && value <= known.most && std::visit(Assign{value}, known.field(config))) return;
    reader.Refuse(
        fmt::format("{} is {}; it is {} from {} to {}", key, word,
                    std::holds_alternative<float*>(known.field(config)) ? "a number" : "a whole number",
                    known.least, known.most));
  }
  reader.Refuse(fmt::format("there is no key '{}'", key));
}

void CheckWhole(const Reader& reader, const AippConfig& config, bool has_mode) {
  if (!has_mode) reader.Refuse("aipp_mode is missing; it is static or dynamic");
  if (config.resize || config.single_line) {
    reader.Refuse(fmt::format("{} is not supported", config.resize ? "resize" : "single_line_mode"));
  }
  if (config.dynamic && config.max_image_bytes == 0)
    reader.Refuse("max_src_image_size is missing, which aipp_mode dynamic needs");
  if (!config.dynamic && config.source.format == ImageFormat::kNone)
    reader.Refuse("input_format is missing, which aipp_mode static needs");
}

AippConfig ReadBlock(Reader& reader) {
  AippConfig config;
  bool has_mode = false;
  reader.Need('{');
  while (!reader.Take('}')) {
    if (reader.at_end()) reader.Refuse("'}' is missing");
    std::string key = reader.Word();
    reader.Need(':');
    SetKey(reader, config, key, reader.Word());
    has_mode |= key == "aipp_mode";
  }
  CheckWhole(reader, config, has_mode);
  return config;
}

struct Print {
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const int32_t* v) const { return std::to_string(*v); }
  std::string operator()(const float* v) const { return fmt::format("{}", *v); }
};

}  // namespace

std::vector<AippConfig> ParseAipp(std::string_view text, const std::string& what) {
  Reader reader(text, what);
  std::vector<AippConfig> configs;
  while (!reader.at_end()) {
    std::string word = reader.Word();
    if (word != "aipp_op")
      reader.Refuse(fmt::format("'{}' is not supported; the file holds blocks aipp_op {{ ... }}", word));
    configs.push_back(ReadBlock(reader));
  }
  if (configs.empty()) reader.Refuse("there is no block aipp_op { ... }");
  return configs;
}

std::vector<AippConfig> ReadAippFile(const std::string& path) {
  const std::string text = ReadWholeFile(path).value_or("");
  if (text.empty())
    Fail(kFileUnreadable, "aipp-file", "E10001: '{}' (insert_op_conf) cannot be read, or is empty", path);
  return ParseAipp(text, path);
}

std::string AippText(const AippConfig& config) {
  AippConfig copy = config;
  std::string text = fmt::format("aipp_op {{ aipp_mode: {}", config.dynamic ? "dynamic" : "static");
  for (const FormatName& format : kFormats) {
    if (config.source.format == format.format) text += fmt::format(" input_format: {}", format.name);
  }
  for (const Key& key : kKeys) text += fmt::format(" {}: {}", key.name, std::visit(Print{}, key.field(copy)));
  return text + " }";
}

}  // namespace belay::graph
