// main returns while streams are full of work, and nothing was given back.
#include "guest.h"

int main() {
  guest::Start();
  for (int i = 0; i < 4; ++i) guest::KeepBusy(guest::NewStream());
  return 0;
}
