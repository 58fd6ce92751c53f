// What the shared library shows: the classes and functions of these headers, and nothing else.
#pragma once

#define BOOBLIK_API __attribute__((visibility("default")))
