// Whether a summary speaks of the segment that it lies beside. A checksum shows that it was written like
// this, not for which file: an index file that was left behind or copied has a good one.
#pragma once

#include "base/result.h"
#include "env/disk.h"
#include "log/index_file.h"

namespace booblik::log {

// Reads about one index interval, and two records for each damaged range:
//   * the headers lead from the last entry of the index, or from what the summary damaged last, to its
//     end, in as many records as it says;
//   * what lies behind its end is not a record;
//   * each damaged range begins with something that is no record, and something else follows it: a record,
//     another range, or the end.
// Not checked: entries in front of the last (whoever uses one checks it), when the records were appended, and
// whether every record inside a damaged range is bad. The file has `file_bytes` bytes. May park.
Result<bool> summary_holds(env::File& file, const FoundSummary& found);

}  // namespace booblik::log
