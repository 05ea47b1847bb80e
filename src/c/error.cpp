// The last error of a thread.
#include "tessera/tessera.h"

extern "C" {
const char* tsr_version(void) { return TESSERA_VERSION; }
int tsr_abi(void) { return TSR_ABI; }
}
