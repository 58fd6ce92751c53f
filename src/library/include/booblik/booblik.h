// All of it.
#pragma once

#include <booblik/client.h>
#include <booblik/connection.h>
#include <booblik/consumer.h>
#include <booblik/outcome.h>
#include <booblik/position_store.h>
#include <booblik/producer.h>
