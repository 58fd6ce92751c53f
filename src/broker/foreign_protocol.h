// Other protocols that end up on our port, recognised by their first bytes so that a log line can name them.
#pragma once

#include <string_view>

#include "base/bytes.h"

namespace booblik::broker {

// "HTTP", "TLS", ...; empty when it looks like none that we know.
[[nodiscard]] std::string_view recognise_foreign_protocol(Bytes first_bytes);

}  // namespace booblik::broker
