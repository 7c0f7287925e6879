// The program's locale writes 4096 as 4.096 and 1.5 as 1,5. Messages and files do not.
#include <locale>
#include <string>

#include "guest.h"

namespace {

struct German : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

int main() {
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  std::locale::global(std::locale(std::locale(), new German));
  guest::Start();
  void* device = guest::OnDevice(4096);
  std::vector<char> host(8192);
  EXPECT(aclrtMemcpy(device, 65536, host.data(), 8192, ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS);
  const char* text = aclGetRecentErrMsg();
  EXPECT(text != nullptr);
  EXPECT(std::strstr(text, "8192") != nullptr && std::strstr(text, "8.192") == nullptr);
  OK(aclrtFree(device));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  return 0;
}
