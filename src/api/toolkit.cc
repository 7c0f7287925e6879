// What the toolkit says about itself, and the application's own log lines.
#include <fmt/format.h>
#include <stdio.h>

#include <cstring>
#include <string>

#include "api/handlers.h"
#include "api/log.h"
#include "base/codes.h"
#include "base/error.h"

namespace belay::api {
namespace {

constexpr int kVersion[] = {BELAY_CANN_VERSION};  // major, minor, patch: from CMakeLists.txt

// Since 8.5 the operators come in packages of their own.
constexpr const char* kPackages[] = {
    "cann",     "runtime", "compiler",        "hccl",   "toolkit",   "opp", "opp_kernel", "driver",
    "ops_math", "ops_nn",  "ops_transformer", "ops_cv", "ops_legacy"};

std::string Version() { return fmt::format("{}", fmt::join(kVersion, ".")); }

template <size_t kSize>
void Put(char (&field)[kSize], const std::string& text) {
  std::memset(field, 0, kSize);
  text.copy(field, kSize - 1);
}

constexpr aclCannAttr kAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};

}  // namespace

void aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
    Fail(codes::kInvalidParam, "package-name", "package {} is none of aclCANNPackageName",
         static_cast<int>(name));
  }
  Put(version->version, Version());
  Put(version->majorVersion, fmt::to_string(kVersion[0]));
  Put(version->minorVersion, fmt::to_string(kVersion[1]));
  Put(version->releaseVersion, "");
  Put(version->patchVersion, fmt::to_string(kVersion[2]));
  Put(version->reserved, "");
}

void aclsysGetVersionStr(char* pkgName, char* versionStr) {
  for (const char* package : kPackages) {
    if (std::strcmp(package, pkgName) == 0) {
      std::strcpy(versionStr, Version().c_str());
      return;
    }
  }
  Fail(codes::kInvalidParam, "package-name",
       "there is no package \"{}\"; {} are the ones that have a version", pkgName,
       fmt::join(kPackages, ", "));
}

// Infinities and NaN, bfloat16: yes. Operators are compiled already: no compiling at run time.
void aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE) {
    Fail(codes::kInvalidParam, "cann-attribute", "ability {} is none of aclCannAttr",
         static_cast<int>(cannAttr));
  }
  *value = cannAttr == ACL_CANN_ATTR_JIT_COMPILE ? 0 : 1;
}

void aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  *cannAttrList = kAttributes;
  *num = std::size(kAttributes);
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt,
               va_list arguments) {
  EnsureLogSettings();
  auto level = static_cast<LogLevel>(logLevel);
  if (logLevel < ACL_DEBUG || logLevel > ACL_ERROR || !LogWanted(level)) return;
  char text[1024];
  vsnprintf(text, sizeof text, fmt, arguments);
  WriteLog(level, "APP", fmt::format("{}: {}", func == nullptr ? "" : func, text),
           {file == nullptr ? "" : file, line});
}

}  // namespace belay::api
