/* Error checking for the examples: a failed call ends the program and says which one, where and why. */
#ifndef BELAY_EXAMPLES_CHECK_H_
#define BELAY_EXAMPLES_CHECK_H_

#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"

#define CHECK(call)                                                                     \
  do {                                                                                  \
    int check_code = (int)(call);                                                       \
    if (check_code != 0) {                                                              \
      const char* check_text = aclGetRecentErrMsg();                                    \
      fprintf(stderr, "%s:%d: %s gave %d\n%s\n", __FILE__, __LINE__, #call, check_code, \
              check_text == NULL ? "(no message)" : check_text);                        \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

#endif /* BELAY_EXAMPLES_CHECK_H_ */
