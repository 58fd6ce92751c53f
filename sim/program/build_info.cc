// The only file that is compiled again when the commit changes.
#include "sim/program/build_info.h"

#include "booblik_commit.h"

namespace booblik::sim {

const char* build_commit() {
  return BOOBLIK_COMMIT;
}

const char* build_name() {
  return BOOBLIK_BUILD;
}

}  // namespace booblik::sim
