// SPDX-License-Identifier: Apache-2.0
// From a code address to "kernel.cu:17", with the chain of inlined callers. Only used when a fault is
// reported.
#pragma once
#include <cstdint>
#include <ostream>

namespace simt {

// Offset in the program of the instruction before a return address.
uint32_t program_offset(const void* return_address);
bool in_program(const void* p);  // its code, constants and static data

struct SourceLine {
  uint32_t offset;
};
std::ostream& operator<<(std::ostream&,
                         SourceLine);  // "reduce.cuh:19 <- layernorm.cu:17", "?" without debug info

}  // namespace simt
