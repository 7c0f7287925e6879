// What belay doctor finds in the file of a program or library, and in the libraries that it needs.
#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <unordered_set>

#include "belay/doctor.h"
#include "belay/loader.h"
#include "belay/program_file.h"
#include "tools/limits.h"

namespace belay::tool {
namespace {

namespace fs = std::filesystem;

bool StartsWith(const std::string& text, std::initializer_list<const char*> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](const char* start) { return text.rfind(start, 0) == 0; });
}

bool IsAscendLibrary(const std::string& name) {
  return StartsWith(name,
                    {"libacl",       "libascend",    "libge_",        "libgraph", "libhccl",   "libhcomm",
                     "libnnopbase",  "libopapi",     "libruntime.so", "libfmk_",  "libmsprof", "libatb",
                     "libopsproto",  "libexe_graph", "libregister",   "libdcmi",  "libc_sec",  "libmmpa",
                     "libtsdclient", "libhcom",      "libshmem",      "libmspti"});
}

bool IsAscendSymbol(const std::string& name) {
  return StartsWith(name, {"acl", "Hccl", "Msprof", "_ZN2ge", "_ZNK2ge", "_ZTVN2ge", "_ZTIN2ge", "dcmi_",
                           "hi_mpi_"}) ||
         (name.size() > 2 && name.rfind("rt", 0) == 0 && std::isupper(static_cast<unsigned char>(name[2])));
}

std::string Readable(const std::string& symbol) {
  std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text ? text.get() : symbol;
}

std::string Shortened(const std::vector<std::string>& names) {
  constexpr size_t kShown = 12;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() <= kShown ? text : text + " and " + std::to_string(names.size() - kShown) + " more";
}

class Examination {
 public:
  Examination(const std::string& path, const std::string& home)
      : home_(home), lib64_(home + "/lib64"), files_(FindLibraries(path, {home + "/lib64"})) {}

  std::vector<Finding> Run() {
    ExamineFile();
    for (size_t i = 1; i < files_.size(); ++i) ExamineLibrary(files_[i]);
    ExamineVersions();
    ExamineSymbols();
    ExamineLimits();
    bool problem = std::any_of(findings_.begin(), findings_.end(),
                               [](const Finding& f) { return f.verdict == Verdict::kProblem; });
    if (!problem)
      Note(Verdict::kGood,
           "its " + std::to_string(files_.size() - 1) + " libraries and their symbols are there");
    return std::move(findings_);
  }

 private:
  void Note(Verdict verdict, std::string what, std::string advice = "") {
    findings_.push_back({verdict, std::move(what), std::move(advice)});
  }

  bool IsProgram() const { return !files_[0].elf.interpreter.empty(); }

  void ExamineFile() {
    const LoadedFile& file = files_[0];
    if (IsProgram() && access(file.elf.interpreter.c_str(), X_OK) != 0) {
      Note(Verdict::kProblem, "the loader that it names, " + file.elf.interpreter + ", does not exist",
           "it was built for another system (a C library other than glibc?): build it here, or run "
           "it in a container of its system");
    }
    bool uses = std::any_of(files_.begin() + 1, files_.end(),
                            [](const LoadedFile& f) { return IsAscendLibrary(f.name); });
    if (!uses) {
      Note(Verdict::kNote, "it is linked with no Ascend library",
           "if it loads them while it runs (plugins, Python modules): examine the files that do");
    }
  }

  void ExamineLibrary(const LoadedFile& file) {
    bool here = !file.path.empty() && SameFolder(fs::path(file.path).parent_path().string(), lib64_);
    if (file.path.empty()) {
      unresolved_ |= !IsAscendLibrary(file.name);
      Note(Verdict::kProblem, file.name + " is not found (needed by " + file.asked_by + ")",
           IsAscendLibrary(file.name)
               ? "Belay does not have it: a program that needs it cannot start"
               : "install the package that has it, or name its folder in LD_LIBRARY_PATH");
    } else if (file.found_by.empty()) {
      Note(Verdict::kProblem, file.name + " is in " + lib64_ + ", but nothing leads the loader there",
           "source " + home_ + "/set_env.sh, or start it with belay run");
    } else if (!here && fs::exists(lib64_ + "/" + file.name) && IsAscendLibrary(file.name)) {
      foreign_ = true;
      bool fixed = file.found_by.rfind("DT_RPATH", 0) == 0 || file.found_by == "its path";
      Note(Verdict::kProblem,
           file.name + " would be taken from " + DescribeForeign(fs::path(file.path).parent_path().string()) +
               ", by " + file.found_by,
           fixed ? "this comes before LD_LIBRARY_PATH: start it with belay run --preload"
                 : "source " + home_ + "/set_env.sh, or start it with belay run");
    }
  }

  // A library that was found may be too old.
  void ExamineVersions() {
    for (const LoadedFile& file : files_) {
      for (const auto& [library, versions] : file.elf.needed_versions) {
        auto found = std::find_if(files_.begin(), files_.end(), [&](const LoadedFile& f) {
          return f.name == library || f.elf.soname == library;
        });
        if (found == files_.end() || found->path.empty()) continue;
        for (const std::string& version : versions) {
          const std::vector<std::string>& there = found->elf.versions;
          if (there.empty() || std::find(there.begin(), there.end(), version) != there.end()) continue;
          Note(Verdict::kProblem,
               file.path + " needs " + version + ", which " + found->path + " does not have",
               "it was built on a newer system: build it here, or run it in a container of that "
               "system");
        }
      }
    }
  }

  // A library may leave symbols to the program that loads it, so of a library's only Ascend's are
  // looked for.
  void ExamineSymbols() {
    std::unordered_set<std::string> defined;
    for (const LoadedFile& file : files_) {
      for (const ElfSymbol& symbol : file.elf.symbols) {
        if (symbol.defined) defined.insert(symbol.name);
      }
    }
    for (const LoadedFile& file : files_) {
      std::vector<std::string> ascend;
      std::vector<std::string> others;
      for (const ElfSymbol& symbol : file.elf.symbols) {
        if (symbol.defined || symbol.weak || defined.count(symbol.name) != 0) continue;
        (IsAscendSymbol(symbol.name) ? ascend : others).push_back(Readable(symbol.name));
      }
      std::sort(ascend.begin(), ascend.end());
      std::sort(others.begin(), others.end());
      std::string when = file.elf.bind_now ? "it does not start without them" : "it stops when it calls one";
      if (!ascend.empty()) {
        Note(Verdict::kProblem,
             file.path + " uses " + std::to_string(ascend.size()) + " functions that " +
                 (foreign_ ? "the libraries above do not have: " : "Belay does not have: ") +
                 Shortened(ascend),
             when + (foreign_ ? "; see above" : "; ask for them with this list"));
      }
      if (!others.empty() && IsProgram() && !unresolved_) {
        Note(Verdict::kProblem, file.path + " uses symbols that no library of it has: " + Shortened(others),
             when);
      }
    }
  }

  // Functions that are there, so that programs start, though not all of them works.
  void ExamineLimits() {
    for (const Limit& limit : kLimits) {
      for (const LoadedFile& file : files_) {
        bool uses = std::any_of(
            file.elf.symbols.begin(), file.elf.symbols.end(),
            [&](const ElfSymbol& symbol) { return !symbol.defined && symbol.name == limit.function; });
        if (!uses) continue;
        const char* what = limit.works ? ", of which not all works: " : ", which always fails: ";
        Note(Verdict::kNote, file.path + " uses " + limit.function + what + limit.note);
      }
    }
  }

  const std::string home_;
  const std::string lib64_;
  std::vector<LoadedFile> files_;
  std::vector<Finding> findings_;
  bool foreign_ = false;     // a library of Ascend's is not Belay's: nothing is said of Belay's then
  bool unresolved_ = false;  // a library of others is missing, and with it symbols
};

}  // namespace

std::vector<Finding> ExamineProgram(const std::string& name, const std::string& home) {
  std::string path = fs::exists(name) ? name : FindProgram(name).path;
  std::error_code none;
  if (!fs::is_regular_file(path, none))
    return {{Verdict::kProblem, "there is no such file", "name a program (PATH is searched) or a library"}};
  try {
    std::optional<ElfFile> elf = ReadElf(path);
    if (!elf) {
      return {{Verdict::kNote,
               "it is neither a program nor a library (a script?): nothing can be told without "
               "running it",
               "examine the libraries that it loads, such as the .so files of a Python package"}};
    }
    if (!elf->is_64_bit || elf->machine != OwnMachine()) {
      return {
          {Verdict::kProblem,
           "it is for " + MachineName(elf->machine) + ", and this machine is " + MachineName(OwnMachine()),
           "build it for this machine"}};
    }
    if (elf->interpreter.empty() && !elf->is_library) {
      return {{Verdict::kProblem,
               "it is statically linked and loads no libraries, so Belay has no effect on it",
               "link it with -lascendcl, without -static"}};
    }
    std::vector<Finding> findings = Examination(path, home).Run();
    if (FindProgram(fs::absolute(path).string()).changes_user) {
      findings.push_back({Verdict::kProblem,
                          "it changes its user or group, so the system ignores LD_LIBRARY_PATH for it",
                          "chmod u-s,g-s, or link it with -rpath"});
    }
    return findings;
  } catch (const std::runtime_error& error) {
    return {{Verdict::kProblem, error.what(), "build or copy it again"}};
  }
}

}  // namespace belay::tool
