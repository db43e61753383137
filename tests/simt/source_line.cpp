// SPDX-License-Identifier: Apache-2.0
// Asks addr2line (of binutils, like the linker) for the lines of a code address in this program.
#include "tests/simt/source_line.h"

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

#include <unistd.h>

extern "C" char __executable_start, _end;  // set by the linker

namespace simt {

uint32_t program_offset(const void* return_address) {
  return static_cast<uint32_t>(static_cast<const char*>(return_address) - &__executable_start) - 1;
}

bool in_program(const void* p) { return p >= &__executable_start && p < &_end; }

std::ostream& operator<<(std::ostream& out, SourceLine line) {
  std::ostringstream command;
  command << "addr2line -Cpie /proc/" << getpid() << "/exe 0x" << std::hex << line.offset << " 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.str().c_str(), "r"), pclose);
  constexpr int kMostCallers = 4;
  int shown = 0;
  char buffer[1024];
  while (pipe && shown < kMostCallers && std::fgets(buffer, sizeof buffer, pipe.get())) {
    std::string text = buffer;
    text.resize(text.find_last_not_of('\n') + 1);
    text.erase(0, text.rfind('/') + 1);
    text.resize(std::min(text.size(), text.find(" (")));  // a discriminator
    // The dialect's own wrappers say nothing about the kernel.
    if (text.starts_with("simt.h") || text.starts_with("device.cuh") || text.starts_with("atomic_base.h") ||
        text.starts_with("?"))
      continue;
    out << (shown++ ? " <- " : "") << text;
  }
  return shown ? out : out << '?';
}

}  // namespace simt
