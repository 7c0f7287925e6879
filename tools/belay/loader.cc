#include "belay/loader.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "belay/toolkit.h"

namespace belay::tool {
namespace {

// /etc/ld.so.cache in its present form: a header, entries of 24 bytes, strings that they point to.
std::multimap<std::string, std::string> ReadCache(const std::string& path) {
  constexpr char kMagic[] = "glibc-ld.so.cache1.1";
  constexpr size_t kHeader = 48;
  constexpr size_t kEntry = 24;
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::multimap<std::string, std::string> libraries;
  if (bytes.rfind(kMagic, 0) != 0 || bytes.size() < kHeader) return libraries;
  auto number = [&](size_t at) {
    uint32_t value = 0;
    if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  auto text = [&](uint32_t at) {
    return at < bytes.size() ? std::string(bytes.c_str() + at) : std::string();
  };
  for (uint32_t i = 0; i < number(sizeof kMagic - 1); ++i) {
    size_t at = kHeader + i * kEntry;
    if (at + kEntry > bytes.size()) break;
    libraries.emplace(text(number(at + 4)), text(number(at + 8)));
  }
  return libraries;
}

std::vector<std::string> Split(const std::string& list) {
  std::istringstream text(list);
  std::vector<std::string> entries;
  for (std::string entry; std::getline(text, entry, ':');) entries.push_back(entry);
  return entries;
}

std::string Expand(std::string folder, const std::string& file) {
  std::string origin = std::filesystem::absolute(file).parent_path().string();
  for (const char* word : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at; (at = folder.find(word)) != std::string::npos;)
      folder.replace(at, std::strlen(word), origin);
  }
  return folder.empty() ? "." : folder;
}

class LibrarySearch {
 public:
  explicit LibrarySearch(const std::vector<std::string>& more_folders)
      : environment_(ListOf("LD_LIBRARY_PATH")),
        cache_(ReadCache("/etc/ld.so.cache")),
        more_folders_(more_folders) {}

  // `chain`: the file that asks, who asked for that one, and so on to the program.
  LoadedFile Find(const std::string& name, const std::vector<const LoadedFile*>& chain) const {
    LoadedFile file{name, "", chain.front()->path, "", {}};
    if (name.find('/') != std::string::npos) {
      Take(name, "its path", file);
      return file;
    }
    const LoadedFile& asker = *chain.front();
    if (asker.elf.runpath.empty()) {
      for (const LoadedFile* link : chain) {
        if (TakeFrom(link->elf.rpath, *link, "DT_RPATH of ", file)) return file;
      }
    }
    for (const std::string& folder : environment_) {
      if (Take(folder + "/" + name, "LD_LIBRARY_PATH", file)) return file;
    }
    if (TakeFrom(asker.elf.runpath, asker, "DT_RUNPATH of ", file)) return file;
    for (auto [it, end] = cache_.equal_range(name); it != end; ++it) {
      if (Take(it->second, "the system", file)) return file;
    }
    for (const char* folder : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"}) {
      if (Take(std::string(folder) + "/" + name, "the system", file)) return file;
    }
    for (const std::string& folder : more_folders_) {
      if (Take(folder + "/" + name, "", file)) return file;
    }
    return file;
  }

 private:
  bool TakeFrom(const std::string& folders, const LoadedFile& owner, const char* what,
                LoadedFile& file) const {
    for (const std::string& folder : Split(folders)) {
      if (Take(Expand(folder, owner.path) + "/" + file.name, what + owner.path, file)) return true;
    }
    return false;
  }

  // The loader passes over files for other processors.
  static bool Take(const std::string& path, const std::string& found_by, LoadedFile& file) {
    if (access(path.c_str(), R_OK) != 0) return false;
    std::optional<ElfFile> elf = ReadElf(path);
    if (!elf || !elf->is_64_bit || elf->machine != OwnMachine()) return false;
    file.path = path;
    file.found_by = found_by;
    file.elf = std::move(*elf);
    return true;
  }

  std::vector<std::string> environment_;
  std::multimap<std::string, std::string> cache_;
  std::vector<std::string> more_folders_;
};

}  // namespace

std::vector<LoadedFile> FindLibraries(const std::string& program,
                                      const std::vector<std::string>& more_folders) {
  LibrarySearch search(more_folders);
  std::vector<LoadedFile> files;
  std::vector<size_t> parent = {0};
  std::optional<ElfFile> elf = ReadElf(program);
  files.push_back({program, program, "", "", elf ? std::move(*elf) : ElfFile{}});
  std::set<std::string> known;
  for (size_t i = 0; i < files.size(); ++i) {
    for (const std::string& name : std::vector<std::string>(files[i].elf.needed)) {
      if (!known.insert(name).second) continue;
      std::vector<const LoadedFile*> chain;
      for (size_t k = i;; k = parent[k]) {
        chain.push_back(&files[k]);
        if (k == 0) break;
      }
      LoadedFile found = search.Find(name, chain);
      known.insert(found.elf.soname);
      files.push_back(std::move(found));
      parent.push_back(i);
    }
  }
  return files;
}

}  // namespace belay::tool
