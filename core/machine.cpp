// SPDX-License-Identifier: Apache-2.0
#include "tare/core/machine.h"

#include <fstream>
#include <string>

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace tare {
namespace {

// The value behind "key" in a file of "key: value" lines, "" when there is none.
std::string value_in(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

int64_t kilobytes_in(const char* file, const std::string& key) {
  const std::string text = value_in(file, key);
  return text.empty() ? 0 : std::stoll(text) * 1024;
}

// Of the first core's cache of that level, "512K" or "32768K" in sysfs (sysconf counts all sockets on some
// machines).
int64_t cache_bytes(int level) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int index = 0; index < 8; ++index) {
    std::ifstream level_file(folder + std::to_string(index) + "/level"),
        size_file(folder + std::to_string(index) + "/size");
    int found = 0;
    int64_t size = 0;
    char unit = 0;
    if (level_file >> found && found == level && size_file >> size >> unit)
      return size * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1);
  }
  return 0;
}

std::string selected_huge_pages() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  std::getline(in, text);
  const size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close == std::string::npos ? "unknown"
                                                                 : text.substr(open + 1, close - open - 1);
}

}  // namespace

Machine this_machine() {
  Machine m;
  m.cpu = value_in("/proc/cpuinfo", "model name");
  if (m.cpu.empty()) m.cpu = "unknown";
  cpu_set_t set;
  m.cores =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : int(sysconf(_SC_NPROCESSORS_ONLN));
  m.memory_bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  m.l2_bytes = cache_bytes(2);
  m.l3_bytes = cache_bytes(3);
  m.huge_pages = selected_huge_pages();
  utsname name{};
  if (uname(&name) == 0) m.os = std::string(name.sysname) + " " + name.release;
  return m;
}

int64_t rss_bytes() { return kilobytes_in("/proc/self/status", "VmRSS"); }
int64_t peak_rss_bytes() { return kilobytes_in("/proc/self/status", "VmHWM"); }

bool reset_peak_rss() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return out.good();
}

}  // namespace tare
