#include "belay/check_explain.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <regex>
#include <utility>

#include "base/markup.h"
#include "check_page_files.h"
#include "layers/support/kinds.h"

namespace belay::tool {
namespace {

// What docs/check.md uses of Markdown: paragraphs, lists, code, smaller headings, and within lines `code`,
// **bold** and [words](where), of which the words stay.
class Markdown {
 public:
  std::string AsHtml(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      Add(text.substr(at, end - at));
      at = end + 1;
    }
    Close();
    return std::move(html_);
  }

 private:
  void Add(std::string_view line) {
    if (line.starts_with("```")) {
      open_ == "pre" ? Close() : Open("pre");
    } else if (open_ == "pre") {
      html_ += Escaped(line) + "\n";
    } else if (line.empty()) {
      Close();
    } else if (line.starts_with("### ")) {
      Close();
      html_ += "<h3>" + Words(line.substr(4)) + "</h3>\n";
    } else if (line.starts_with("- ")) {
      if (open_ == "ul") {
        html_ += "</li>\n<li>";
      } else {
        Open("ul");
        html_ += "<li>";
      }
      html_ += Words(line.substr(2)) + "\n";
    } else {
      if (open_.empty()) Open("p");
      html_ += Words(line) + "\n";
    }
  }
  void Open(const char* element) {
    Close();
    open_ = element;
    html_ += "<" + open_ + ">";
  }
  void Close() {
    if (open_ == "ul") html_ += "</li>";
    if (!open_.empty()) html_ += "</" + open_ + ">\n";
    open_.clear();
  }

  static std::string Words(std::string_view line) {
    static const std::pair<std::regex, const char*> kForms[] = {
        {std::regex("`([^`]+)`"), "<code>$1</code>"},
        {std::regex("\\*\\*([^*]+)\\*\\*"), "<b>$1</b>"},
        {std::regex("\\[([^\\]]+)\\]\\([^)]+\\)"), "$1"}};
    std::string text = Escaped(line);
    for (const auto& [form, html] : kForms) text = std::regex_replace(text, form, html);
    return text;
  }

  std::string html_, open_;
};

}  // namespace

std::string_view ExplanationOf(std::string_view kind) {
  const std::string_view pages = kCheckPages;
  const std::string heading = "\n## " + layers::HeadingOf(kind) + "\n";
  const size_t begin = pages.find(heading);
  if (begin == std::string_view::npos) return "";
  const size_t from = pages.find_first_not_of('\n', begin + heading.size());
  return pages.substr(from, std::min(pages.find("\n## ", from), pages.size()) - from);
}

std::string ExplanationAsHtml(std::string_view kind) { return Markdown().AsHtml(ExplanationOf(kind)); }

int ExplainKinds(const std::vector<std::string>& kinds) {
  if (kinds.empty()) {
    for (const layers::Kind& kind : layers::kKinds)
      std::printf("%-24s%s\n", std::string(kind.id).c_str(), std::string(kind.title).c_str());
  }
  int code = 0;
  for (const std::string& kind : kinds) {
    const std::string_view page = ExplanationOf(kind);
    if (page.empty()) {
      std::fprintf(stderr, "belay explain: there is no kind %s; belay explain lists them\n", kind.c_str());
      code = 1;
    } else {
      std::printf("%s\n\n%.*s\n", layers::HeadingOf(kind).c_str(), static_cast<int>(page.size()),
                  page.data());
    }
  }
  return code;
}

}  // namespace belay::tool
