#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace belay {

MappedFile::~MappedFile() { munmap(data_, size_); }

std::shared_ptr<const MappedFile> MapFile(const std::string& path, std::string* reason) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for who writes to it
  *reason = file < 0 ? std::strerror(errno) : "it is empty or no ordinary file";
  void* data = MAP_FAILED;
  struct stat about {};
  if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
    data = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  }
  if (file >= 0) close(file);
  if (data == MAP_FAILED) return nullptr;
  return std::make_shared<MappedFile>(data, static_cast<size_t>(about.st_size));
}

}  // namespace belay
