/* The smallest program that uses a device: send a text there, fetch it back, say where it was. In C. */
#include <string.h>

#include "../check.h"

int main(void) {
  const char text[] = "Hello from the device";
  char back[sizeof(text)] = "";
  void* on_device = NULL;

  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtMalloc(&on_device, sizeof(text), ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(on_device, sizeof(text), text, sizeof(text), ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK(aclrtMemcpy(back, sizeof(back), on_device, sizeof(text), ACL_MEMCPY_DEVICE_TO_HOST));
  printf("%s 0, an %s\n", back, aclrtGetSocName());

  CHECK(aclrtFree(on_device));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return strcmp(text, back) == 0 ? 0 : 1;
}
